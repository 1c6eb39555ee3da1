"""Libraries that are cloned and built: which GPUs their build takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import MATRIX, report, repository, serious

from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.edits import edits

FLASH = "https://github.com/{}/flash-attention.git"
BUILD = "FROM rocm/pytorch:rocm6.3_ubuntu24.04_py3.12_pytorch_release_2.4.0\nRUN git clone {} && cd flash-attention && {}GPU_ARCHS={} python3 setup.py bdist_wheel\n"


def named(root: Path, owner: str, checkout: str, gpus: str, gpu: str = "gfx1100") -> list[str]:
    text = BUILD.format(FLASH.format(owner), f"git checkout {checkout} && " if checkout else "", gpus)
    return [f.id for f in serious(report(root, {"Dockerfile": text}, gpu=gpu)) if f.id in ("lib.flash-attn", "arch.not-in-build")]


@pytest.mark.parametrize(("owner", "checkout", "gpus", "gpu", "expected"), [
    ("Dao-AILab", "v2.8.3", "gfx90a", "gfx1100", ["lib.flash-attn"]), ("Dao-AILab", "v2.8.3", '"gfx90a;gfx1100"', "gfx1100", ["lib.flash-attn"]),
    ("Dao-AILab", "0e60e394", "gfx90a", "gfx1100", ["lib.flash-attn"]), ("Dao-AILab", "0e60e394", "gfx1100", "gfx1100", ["lib.flash-attn"]),
    ("Dao-AILab", "", "gfx90a", "gfx1100", ["arch.not-in-build"]), ("Dao-AILab", "", "gfx1100", "gfx1100", []),
    ("Dao-AILab", "v2.8.3", "gfx90a", "gfx942", ["arch.not-in-build"]), ("Dao-AILab", "v2.8.3", "gfx942", "gfx942", []),
    ("ROCm", "", "gfx90a", "gfx1100", ["lib.flash-attn"]), ("ROCm", "0e60e394", "gfx90a", "gfx942", ["arch.not-in-build"]),
])  # fmt: skip
def test_a_list_of_gpus_is_held_against_what_the_build_takes(
    tmp_path: Path, owner: str, checkout: str, gpus: str, gpu: str, expected: list[str]
) -> None:
    assert named(tmp_path, owner, checkout, gpus, gpu) == expected


@pytest.mark.parametrize("gpus", ["gfx90a", '"gfx90a;gfx1100"'])
def test_no_remedy_names_a_gpu_that_the_build_refuses(tmp_path: Path, gpus: str) -> None:
    text = BUILD.format(FLASH.format("Dao-AILab"), "git checkout v2.8.3 && ", gpus)
    found = report(tmp_path, {"Dockerfile": text})
    assert found.verdict != "ready"
    assert not any("GPU_ARCHS" in f.advice for f in found.findings)
    assert edits(repository(tmp_path, {}), found, [Target("t", "gfx1100")], MATRIX) == []


def test_a_wheel_that_another_stage_builds(tmp_path: Path) -> None:
    text = BUILD.format(FLASH.format("Dao-AILab"), "git checkout v2.8.3 && ", "gfx90a").replace("\nRUN", " AS builder\nRUN")
    files = {
        "Dockerfile": text
        + "FROM rocm/pytorch:latest\nCOPY --from=builder /app/wheels /app/wheels\nRUN pip install /app/wheels/*.whl\n"
    }
    found = report(tmp_path, files)
    assert "lib.flash-attn" in [f.id for f in serious(found)]
    assert not any("GPU_ARCHS" in f.advice for f in found.findings)


@pytest.mark.parametrize("commands", [
    "git clone -b v2.8.3 {} /src && cd /src && python setup.py install", "git clone {} && cd flash-attention && git checkout v2.8.3 && pip install .",
    "git clone {} fa && git -C fa checkout v2.8.3 && pip install ./fa", "git clone --branch=v2.8.3 {}\npip wheel flash-attention",
])  # fmt: skip
def test_ways_to_build_a_clone(tmp_path: Path, commands: str) -> None:
    text = (
        f"pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n{commands.format(FLASH.format('Dao-AILab'))}\n"
    )
    asked = {
        (r.name, r.spec)
        for e in repository(tmp_path, {"rocm/install.sh": text}).environments
        for s in e.steps
        for r in s.requirements
    }
    assert ("flash-attn", "==2.8.3") in asked


BASE = "FROM rocm/pytorch:rocm7.1_ubuntu24.04_py3.12_pytorch_release_2.8.0\nRUN pip install peft\n{}\nENV PYTORCH_ROCM_ARCH=gfx1201\n"


@pytest.mark.parametrize(("command", "expected"), [
    ("RUN pip3 install transformers datasets", []), ("RUN apt-get update && apt-get install -y cmake git build-essential", []),
    ("RUN pip install -r /tmp/requirements.txt", []), ("RUN curl -LsSf https://astral.sh/uv/install.sh | sh", []),
    ("RUN uv pip install x==1 \\\n    --python /srv/venv", []), ("RUN pip install --no-deps .", ["arch.not-in-build"]),
    ("RUN cmake -B b && make -C b", ["arch.not-in-build"]), ("RUN git clone https://github.com/x/y && cd y && pip install .", ["arch.not-in-build"]),
    ("RUN pip install --no-binary :all: causal-conv1d", ["arch.not-in-build"]), ("RUN pip install deepspeed", ["arch.not-in-build"]),
    ("RUN pip install git+https://github.com/x/y", ["arch.not-in-build"]), ("RUN ./compile.sh", ["arch.not-in-build"]),
    ("RUN cd /x && python setup.py install", ["arch.not-in-build"]), ("RUN pip install -e /x", ["arch.not-in-build"]),
])  # fmt: skip
def test_a_list_of_gpus_counts_where_something_is_compiled(tmp_path: Path, command: str, expected: list[str]) -> None:
    files = {"Dockerfile": BASE.format(command), "requirements.txt": "peft\n"}
    found = report(tmp_path, files)
    assert [f.id for f in serious(found)] == expected
    assert any(f.id == "arch.not-in-build" for f in found.findings)


@pytest.mark.parametrize(("asked", "replaced"), [
    ("git+https://github.com/resemble-ai/chatterbox.git", True), ("chatterbox-tts", True), ("git+https://github.com/Resemble-AI/chatterbox", True),
    ("'chatterbox-tts @ git+https://github.com/resemble-ai/chatterbox.git'", True), ("git+ssh://git@github.com/resemble-ai/chatterbox.git", True),
    ("git+https://github.com/resemble-ai/chatterbox.git@v0.1.2", False), ("git+https://github.com/x/chatterbox.git", False),
    ("--no-deps git+https://github.com/resemble-ai/chatterbox.git", False), ("git+https://github.com/resemble-ai/Perth.git", False),
])  # fmt: skip
def test_a_project_by_its_address_has_the_pins_of_its_package(tmp_path: Path, asked: str, replaced: bool) -> None:
    text = f"FROM rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.9.1\nRUN pip3 install {asked}\n"
    found = [f for f in serious(report(tmp_path, {"Dockerfile": text})) if f.id == "version.torch-not-rocm"]
    assert bool(found) is replaced
    assert all("install chatterbox-tts with --no-deps" in f.advice for f in found)
