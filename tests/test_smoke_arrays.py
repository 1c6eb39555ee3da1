"""The smoke test of JAX, on the CPU: right numbers pass, wrong ones and a hang are caught and named.

JAX is that of this environment, or of the interpreter that ROCM_DOCTOR_TEST_JAX names.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.probes.python.smoke import probe
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.smoke.runner import choose_stages, find_frameworks, run_smoke
from rocm_doctor.smoke.summary import lines
from rocm_doctor.workers import child
from rocm_doctor.workers.smoke.table import ARRAYS

pytestmark = pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")
HERE = Path(__file__)
ALONE = {"OMP_NUM_THREADS": "1"}
NOT_ON_CPU = {"attention-flash"}


def interpreter() -> str:
    named = os.environ.get("ROCM_DOCTOR_TEST_JAX", "")
    if not named and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    return named or sys.executable


def results(artifacts: list[Artifact]) -> dict[str, dict[str, Any]]:
    records = [msgspec.json.decode(line) for a in artifacts if a.name.endswith(".jsonl") for line in a.text.splitlines()]
    return {r["stage"]: r for r in records if r["kind"] == "result"}


@pytest.mark.jax
def test_every_stage_passes_on_the_cpu() -> None:
    artifacts = run_smoke(interpreter(), framework="jax", device="cpu", level=3, environment=ALONE)
    found = results(artifacts)
    assert set(found) == {stage.name for stage in ARRAYS}
    for name, result in found.items():
        assert result["status"] == ("skipped" if name in NOT_ON_CPU else "passed"), result
    assert [a.name for a in artifacts] == ["smoke/jax-cpu.jsonl"]


# Stage, where the value is damaged, which, how -> the reason it must fail for, and a word of the message.
WRONG = {
    "copy copy_on_device - zeros": ("zeros", "on-device copy of 1 bytes"),
    "copy copy_on_device - flip": ("mismatch", "on-device copy of 1 bytes"),
    "matmul get float32 scale": ("mismatch", "float32 product 256"),
    "matmul get float32 spike": ("mismatch", "1 of 65536 values"),
    "matmul get float32 zeros": ("zeros", "float32 product 256"),
    "fp16 get float16 flip": ("mismatch", "conversion from float32 to float16"),
    "bf16 get bfloat16 flip": ("mismatch", "conversion from float32 to bfloat16"),
    "attention-math compile 0 scale": ("mismatch", "result of math attention"),
    "attention-math compile 2 nan": ("nan", "gradient of k"),
    "backward compile 1 scale": ("mismatch", "linear, gradient of input"),
    "backward compile 1 zeros": ("zeros", "linear, gradient of input"),
    "lora compile 2 zeros": ("mismatch", "loss curve in float32"),
    "lora compile 0 nan": ("nan", "loss curve in float32"),
}


def rounds() -> list[list[str]]:
    """The cases in as few processes as can hold them: each stage once, and those that others need on their own."""
    made: list[list[str]] = [[c] for c in WRONG if c.split()[0] in ("copy", "matmul")]
    left = [c for c in WRONG if [c] not in made]
    while left:
        seen: dict[str, str] = {}
        for case in left:
            seen.setdefault(case.split()[0], case)
        made.append(list(seen.values()))
        left = [case for case in left if case not in seen.values()]
    return made


def parameters() -> list[Any]:
    """The round with most stages is quick to run for what it shows; the others are slow."""
    most = max(rounds(), key=len)
    return [pytest.param(cases, marks=[] if cases == most else [pytest.mark.slow]) for cases in rounds()]


@pytest.mark.jax
@pytest.mark.parametrize("cases", parameters(), ids=lambda cases: cases[0].replace(" ", "-"))
def test_wrong_numbers_are_caught(cases: list[str]) -> None:
    prelude, environment = str(HERE.with_name("smoke_wrong_arrays.py")), {**ALONE, "WRONG": "\n".join(cases)}
    stages = [case.split()[0] for case in cases]
    found = results(
        run_smoke(interpreter(), framework="jax", device="cpu", stages=stages, prelude=prelude, environment=environment)
    )
    for case in cases:
        result, (reason, said) = found[case.split()[0]], WRONG[case]
        assert (result["status"], result.get("reason")) == ("failed", reason), (case, result)
        assert said in result["message"], (case, result)


@pytest.mark.jax
def test_a_kernel_that_never_ends_is_caught() -> None:
    """Not a sleep in Python: XLA itself does not come back."""
    prelude, environment = str(HERE.with_name("smoke_wrong_arrays.py")), {**ALONE, "WRONG": "bf16 spin - -"}
    artifacts = run_smoke(
        interpreter(),
        framework="jax",
        device="cpu",
        stages=["bf16", "fp16"],
        prelude=prelude,
        environment=environment,
        limit=20.0,
    )
    found = results(artifacts)
    assert (found["bf16"]["status"], found["bf16"]["doing"]) == ("timeout", "a kernel that never ends")
    assert found["fp16"]["status"] == "passed"
    assert "in spin" in "".join(a.text for a in artifacts if a.name.endswith(".log"))


def test_stages_that_die_and_hang_are_isolated() -> None:
    """With stand-ins, as for torch: tests/test_smoke_faults.py."""
    fault = {"FAULT": "fp16 segv\nlora hang"}
    found = results(
        run_smoke(framework="jax", level=3, gpu=0, limit=1.0, prelude=str(HERE.with_name("smoke_faults.py")), environment=fault)
    )
    assert (found["fp16"]["status"], found["fp16"]["reason"]) == ("died", "SIGSEGV")
    assert found["lora"]["status"] == "timeout"
    assert found["bf16"]["status"] == "passed"


def test_a_framework_that_is_not_there_is_said_to_be_absent(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    found = results(run_smoke(str(bare), framework="jax", device="cpu", stages=["matmul"]))
    assert (found["import"]["status"], found["import"]["reason"]) == ("skipped", "not-installed")
    assert found["import"]["message"] == "jax is not installed in this interpreter"
    assert find_frameworks(str(bare), {}) == ("torch",)


def test_auto_finds_what_is_installed_without_importing_it(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise SystemExit('imported')\n")
    assert "jax" in set(find_frameworks(sys.executable, {"PYTHONPATH": str(tmp_path)}))


def test_stages_of_one_framework_only() -> None:
    assert choose_stages(1, ["peft"], "jax") == []
    with pytest.raises(KeyError, match="peft"):
        run_smoke(framework="jax", stages=["peft"])


def artifact(framework: str, device: str, *passed: str, failed: str = "", name: str = "gpu0") -> Artifact:
    header = {"kind": "header", "framework": framework, framework: "1.0", "device": device, "name": "Radeon RX 7900 XTX"}
    records = [header, *({"kind": "result", "stage": stage, "status": "passed"} for stage in passed)]
    records += [{"kind": "result", "stage": failed, "status": "failed", "reason": "nan"}] if failed else []
    prefix = "" if framework == "torch" else framework + "-"
    return Artifact(f"smoke/{prefix}{name}.jsonl", "bundle", "".join(json.dumps(r) + "\n" for r in records))


def test_rows_judge_the_worst_and_proven_tells_the_frameworks_apart() -> None:
    some = [artifact("torch", "hip", "import", "matmul", "bf16"), artifact("jax", "hip", "import", "matmul", failed="bf16")]
    report = pipeline.judge(some, load())
    assert report.proven == ("import", "matmul", "bf16", "jax.import", "jax.matmul")
    assert "smoke-bf16" in {finding.row for finding in report.findings}
    assert [line.partition(":")[0] for line in lines(report.snapshot)] == [
        "torch passed on Radeon RX 7900 XTX", "jax passed on Radeon RX 7900 XTX", "jax failed (nan)",
    ]  # fmt: skip


def test_jax_alone_is_named_in_what_was_proven() -> None:
    report = pipeline.judge([artifact("jax", "hip", "import", "matmul")], load())
    assert report.proven == ("jax.import", "jax.matmul")
    assert report.snapshot.get("smoke.matmul").value == "passed"


def test_a_framework_on_the_cpu_does_not_speak_for_the_gpu() -> None:
    some = [artifact("torch", "hip", "import", "bf16"), artifact("jax", "cpu", "import", failed="bf16", name="cpu")]
    facts = probe(Artifacts(some)).facts
    assert facts["smoke.bf16"].value == "passed"
    assert facts["smoke.jax.bf16"].value == "failed:nan"
    assert facts["smoke.kind"].value == "hip"
