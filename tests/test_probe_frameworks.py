"""JAX and TensorFlow from the list of packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.facts.frameworks import framework_facts
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.code import code_objects

CASES: Mapping[str, dict[str, str]] = {
    "jax==0.11.2\njaxlib==0.11.2\n": {"jax.build": "cpu"},
    "jax==0.11.2\njax_rocm7_plugin==0.11.2\njax-rocm7-pjrt==0.11.2\n": {
        "jax.build": "rocm", "jax.rocm": "7", "jax.plugin": "0.11.2", "jax.parts": "same",
    },
    "jax==0.9.1\njax-rocm7-plugin==0.9.1+rocm7.13.0a20260415\njax-rocm7-pjrt==0.9.1.post6\n": {
        "jax.build": "rocm", "jax.rocm": "7", "jax.plugin": "0.9.1+rocm7.13.0a20260415", "jax.parts": "same",
    },
    "jax==0.12.0\njax-rocm10-pjrt==0.12.0\n": {"jax.build": "rocm", "jax.rocm": "10", "jax.parts": "differ"},
    "jax==0.5.0\njax-rocm60-plugin==0.4.35\njax-rocm60-pjrt==0.5.0\n": {
        "jax.build": "rocm", "jax.rocm": "6.0", "jax.plugin": "0.4.35", "jax.parts": "differ",
    },
    "jax==0.11.2\njax-cuda12-plugin==0.11.2\njax-cuda12-pjrt==0.11.2\n": {
        "jax.build": "cuda", "jax.plugin": "0.11.2", "jax.parts": "same",
    },
    "tensorflow-rocm==2.14.0.600\n": {"tensorflow.build": "rocm", "tensorflow.rocm": "6.0"},
    "tensorflow-rocm==2.20.0.dev0\n": {"tensorflow.build": "rocm"},
    "tensorflow==2.21.0\n": {"tensorflow.build": "cuda"},
    "tensorflow-cpu==2.21.0\n": {"tensorflow.build": "cpu"},
    "torch==2.9.1\njax-rocm7-plugin==0.10.2\n": {},
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_builds(text: str) -> None:
    found = framework_facts(pipeline.read_facts([Artifact("py/packages", "live", text)], load()))
    assert {name: fact.value for name, fact in found.items()} == CASES[text]


def rows(*lines: str, env: str = "") -> set[str]:
    artifacts = [Artifact("py/packages", "live", "\n".join(lines) + "\n"), Artifact("env", "live", env)]
    return {finding.row for finding in pipeline.judge(artifacts, load()).findings}


def test_parts_of_different_versions_are_a_finding_and_equal_ones_are_none() -> None:
    assert "jax-parts-differ" in rows("jax==0.5.0", "jax-rocm60-plugin==0.4.35", "jax-rocm60-pjrt==0.5.0")
    whole = ("jax==0.11.2", "jax-rocm7-plugin==0.11.2", "jax-rocm7-pjrt==0.11.2")
    assert not {"jax-parts-differ", "jax-platforms-cpu"} & rows(*whole)
    assert "jax-platforms-cpu" in rows(*whole, env="JAX_PLATFORMS=cpu\n")
    assert "jax-platforms-cpu" not in rows("jax==0.11.2", env="JAX_PLATFORMS=cpu\n")


def test_an_environment_without_torch_is_audited_if_jax_may_hold_gpu_code(tmp_path: Path) -> None:
    def audited(packages: str) -> bool:
        beside = [Artifact("py/interpreter", "live", f"folders: {tmp_path}\n"), Artifact("py/packages", "live", packages)]
        return bool(code_objects(beside, tmp_path, {}))

    assert audited("jax==0.11.2\njax-rocm7-pjrt==0.11.2\n")
    assert audited("tensorflow-rocm==2.14.0.600\n")
    assert audited("llama-cpp-python==0.3.36\n")
    assert not audited("jax==0.11.2\njaxlib==0.11.2\n")
