"""Visibility variables that hide every GPU by a word, and names of files that name two GPUs in one word."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

from rocm_doctor.lint.environments.words import cards, named

IMAGE = "rocm/pytorch:rocm7.2.1_ubuntu24.04_py3.12_pytorch_release_2.9.1"


@pytest.mark.parametrize(("said", "title"), [
    ("HIP_VISIBLE_DEVICES=all", "HIP_VISIBLE_DEVICES=all hides every GPU"), ("ROCR_VISIBLE_DEVICES=auto", "ROCR_VISIBLE_DEVICES=auto hides every GPU"),
    ("CUDA_VISIBLE_DEVICES=all", "CUDA_VISIBLE_DEVICES=all hides every GPU"), ("HIP_VISIBLE_DEVICES=0", ""), ("HIP_VISIBLE_DEVICES=0,all", ""),
    ("HIP_VISIBLE_DEVICES=GPU-4e6d1b2c8a1f0d3e", ""), ("ROCR_VISIBLE_DEVICES=gpu-4e6d1b2c8a1f0d3e", ""), ("HIP_VISIBLE_DEVICES=$GPUS", ""),
    ("HIP_VISIBLE_DEVICES=none", ""), ("CUDA_VISIBLE_DEVICES=all HIP_VISIBLE_DEVICES=0", ""), ("NVIDIA_VISIBLE_DEVICES=all", ""),
])  # fmt: skip
def test_a_word_hides_every_gpu(tmp_path: Path, said: str, title: str) -> None:
    found = serious(
        report(tmp_path / "a", {"Dockerfile": f'FROM {IMAGE}\nENV {said}\nCMD ["python", "train.py"]\n'}, gpu="gfx1030")
    )
    assert [(f.title, f.evidence[0].place) for f in found if "hides" in f.title] == ([(title, "line 2")] if title else [])
    items = "".join(f"      - {one}\n" for one in said.split())
    service = f"services:\n  w:\n    image: {IMAGE}\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    environment:\n{items}"
    found = serious(report(tmp_path / "b", {"compose.yaml": service}))
    assert [f.title for f in found if "hides" in f.title] == ([title] if title else [])


SERVICE = f"services:\n  w:\n    image: {IMAGE}\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    command: python train.py\n    environment:\n      - {{}}\n"
ROCR = "ROCR_VISIBLE_DEVICES"


@pytest.mark.parametrize(("said", "more", "severity"), [
    (f"{ROCR}=all", {}, "error"), (f"{ROCR}=", {}, "error"), (f"{ROCR}=${{GPUS:-}}", {}, "error"), (f"{ROCR}=${{GPUS}}", {}, ""), (f"{ROCR}=auto", {}, "warning"),
    ("HIP_VISIBLE_DEVICES=all", {}, "warning"), ("HIP_VISIBLE_DEVICES=", {}, ""), (f"{ROCR}=${{GPUS:-all}}", {}, "warning"),
    (f"{ROCR}=all", {"run.sh": f"docker compose run -e {ROCR}=0 w\n"}, "warning"), (f"{ROCR}=all", {"run.sh": f"export {ROCR}=all\n"}, "error"),
])  # fmt: skip
def test_what_the_hsa_runtime_takes_for_no_gpu_is_certain(tmp_path: Path, said: str, more: dict[str, str], severity: str) -> None:
    """Where the repository gives the variable another value, or its caller may, it is a warning."""
    files = {"compose.yaml": SERVICE.format(said), "train.py": "import torch\n"} | more
    found = [f.severity for f in serious(report(tmp_path, files)) if "hides" in f.title and "compose.yaml" in str(f.evidence)]
    assert found == ([severity] if severity else [])


@pytest.mark.parametrize("line", [f"ENV {ROCR}=all", "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0", 'ENV HSA_OVERRIDE_GFX_VERSION=""'])
def test_what_a_build_installs_changes_no_variable_of_its_image(tmp_path: Path, line: str) -> None:
    text = f'FROM {IMAGE}\nRUN pip install -r /tmp/made-elsewhere.txt\n{line}\nCMD ["python", "train.py"]\n'
    found = report(tmp_path, {"Dockerfile.rocm": text, "train.py": "import torch\n"}).findings
    assert [f.severity for f in found if f.evidence and f.evidence[0].place == "line 3"] == ["error"]


@pytest.mark.parametrize(("name", "gpus"), [
    ("Dockerfile-rocm-mi250mi300_torch251", ("gfx90a", "gfx942")), ("Dockerfile.mi300xmi355x", ("gfx942", "gfx950")), ("Dockerfile.mi210", ("gfx90a",)), ("mi300a", ("gfx942",)),
    ("semi250", ()),
])  # fmt: skip
def test_a_word_that_names_two_gpus(name: str, gpus: tuple[str, ...]) -> None:
    assert cards(name) == gpus
    assert named(name)[0] == ("amd" if gpus else "neutral")


def test_an_image_named_after_two_gpus_is_judged_for_both(tmp_path: Path) -> None:
    files = {"Dockerfile-rocm-mi250mi300_torch251": "FROM rocm/dev-ubuntu-22.04:6.2.2\nRUN pip install torch==2.5.1\n"}
    for gpu in ("gfx90a", "gfx942"):
        found = [f.id for f in report(tmp_path / gpu, files, gpu=gpu).findings if f.severity != "note"]
        assert found == ["version.torch-not-rocm"]


@pytest.mark.parametrize(("name", "kind"), [
    ("Linux/MacOS one line install", "neutral"), ("install-linux-macos.sh", "neutral"), ("macOS", "apple"), ("Linux with CUDA", "nvidia"),
])  # fmt: skip
def test_a_name_of_several_systems_is_for_no_hardware(name: str, kind: str) -> None:
    assert named(name)[0] == kind
