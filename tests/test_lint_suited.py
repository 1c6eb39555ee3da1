"""The releases that edits ask for, and those that pip takes from a repository, held against the torch that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

LIST = "--extra-index-url https://download.pytorch.org/whl/rocm{rocm}\ntorch=={torch}+rocm{rocm}\n{more}\n"


@pytest.mark.parametrize(("torch", "rocm", "gpu", "edit"), [
    ("2.7.1", "6.3", "gfx1100", "Write bitsandbytes==0.49.2 on line 3"), ("2.10.0", "7.1", "gfx1100", "Write bitsandbytes>=0.50.2 on line 3"),
    ("2.7.1", "6.3", "gfx1030", "No release of bitsandbytes is known to work with this torch on this GPU."),
])  # fmt: skip
def test_an_edit_asks_for_a_release_that_nothing_is_found_against(
    tmp_path: Path, torch: str, rocm: str, gpu: str, edit: str
) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST.format(torch=torch, rocm=rocm, more="bitsandbytes==0.38.0")}, gpu)
    assert [f.advice.startswith(edit) for f in found.findings if f.row == "bitsandbytes-without-rocm-library"] == [True]


HEAD = "git+https://github.com/huggingface/transformers"


@pytest.mark.parametrize(("url", "ids"), [
    (HEAD, ["version.package-mismatch"]), (f"{HEAD}.git", ["version.package-mismatch"]), (f"{HEAD}@v4.51.3", []),
    ("git+https://github.com/someone/transformers", []),
])  # fmt: skip
def test_the_newest_state_of_a_repository_needs_what_the_newest_release_does(tmp_path: Path, url: str, ids: list[str]) -> None:
    text = LIST.format(torch="2.5.1", rocm="6.2", more=f"transformers @ {url}")
    assert [i for i, severity, _ in said(report(tmp_path, {"requirements-rocm.txt": text})) if severity == "warning"] == ids


@pytest.mark.parametrize(
    "package", ["stable-baselines3", "monai", "openai-whisper", "kornia", "speechbrain", "flair", "pyro-ppl", "x-transformers"]
)
def test_a_package_that_brings_torch(tmp_path: Path, package: str) -> None:
    files = {"Dockerfile.rocm": f"FROM rocm/dev-ubuntu-24.04:7.2\nRUN pip install {package}\n"}
    assert ("version.torch-not-rocm", "warning", "Dockerfile.rocm:2") in said(report(tmp_path, files))


@pytest.mark.parametrize(("pin", "warned"), [("0.49.2", True), ("0.50.0.dev0", False), ("0.49.2+site.1", False)])
def test_a_pin_of_a_build_from_source_is_no_published_wheel(tmp_path: Path, pin: str, warned: bool) -> None:
    found = report(
        tmp_path, {"requirements-rocm.txt": LIST.format(torch="2.9.1", rocm="6.4", more=f"bitsandbytes=={pin}")}, "gfx906"
    )
    assert any(f.id == "lib.bitsandbytes" for f in found.findings) == warned


@pytest.mark.parametrize("releases", [("2.5.1+rocm6.2", "2.3.1+rocm6.0"), ("2.3.1+rocm6.0", "2.5.1+rocm6.2")])
def test_a_line_that_two_environments_install_gets_what_suits_both(tmp_path: Path, releases: tuple[str, str]) -> None:
    line = "pip install torch=={} --index-url https://download.pytorch.org/whl/{}\npip install -r requirements.txt\n"
    files = {f"{name}/install_rocm.sh": "cd ..\n" + line.format(*torch.split("+")) for name, torch in zip("ab", releases)}
    (found,) = [f for f in serious(report(tmp_path, files | {"requirements.txt": "transformers\n"})) if "transformers" in f.title]
    assert "Write transformers==5.0.0 on line 1 of requirements.txt." in found.advice
    assert found.advice.count("Write transformers") == 1


@pytest.mark.parametrize(("base", "command", "severity"), [
    ("rocm/dev-ubuntu-24.04:7.2", "pip install openai-whisper", "warning"), ("rocm/dev-ubuntu-24.04:7.2", "pip install torch openai-whisper", "error"),
    ("rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0", "python3 -m venv /v && /v/bin/pip install openai-whisper", "error"),
])  # fmt: skip
def test_a_torch_that_only_another_package_requires(tmp_path: Path, base: str, command: str, severity: str) -> None:
    """What its newest release requires is settled on the day; a torch that is asked for, or one of the image that is out of sight, is so today."""
    found = report(tmp_path, {"Dockerfile.rocm": f"FROM {base}\nRUN {command}\n"})
    assert ("version.torch-not-rocm", severity, "Dockerfile.rocm:2") in said(found)


@pytest.mark.parametrize(("beside", "severity", "words"), [
    ("  - numpy\n", "error", "a CPU or CUDA build"), ("  - pytorch-cuda=12.4\n", "error", "a CUDA build"), ("  - cpuonly\n", "", ""),
    ("  - pip:\n    - jax-rocm7-plugin==0.6.0\n", "warning", "a CPU or CUDA build"),
])  # fmt: skip
def test_conda_chooses_the_build_by_the_driver_that_it_finds(tmp_path: Path, beside: str, severity: str, words: str) -> None:
    """A CUDA build asks for the driver of an NVIDIA GPU; beside JAX for ROCm torch may be meant for the CPU."""
    files = {
        "environment-rocm.yml": f"name: x\nchannels:\n  - conda-forge\ndependencies:\n  - python=3.12\n  - pytorch\n{beside}",
        "train.py": "import torch\n\nx = torch.zeros(1).cuda()\n",
    }
    found = [f for f in serious(report(tmp_path, files)) if f.id == "version.torch-not-rocm"]
    assert [(f.severity, f.title) for f in found] == ([(severity, f"torch resolves to {words}")] if severity else [])


@pytest.mark.parametrize(("before", "option", "severity"), [
    ("openai-whisper==20240930", "", "warning"), ("openai-whisper==20240930", "--force-reinstall ", "error"), ("ffmpeg-python", "", "error"),
])  # fmt: skip
def test_which_torch_stays_depends_on_pip(tmp_path: Path, before: str, option: str, severity: str) -> None:
    """pip 20.0 of Ubuntu 20.04 leaves the torch that openai-whisper brought; a pip with the resolver takes the one that torchvision goes with."""
    install = f"pip3 install {option}torch torchvision torchaudio --index-url https://download.pytorch.org/whl/rocm5.4.2"
    files = {"Dockerfile.amd": f"FROM ubuntu:20.04\nRUN pip3 install {before}\nRUN {install}\n"}
    found = [f for f in serious(report(tmp_path, files)) if "has no code" in f.title]
    assert [f.severity for f in found] == [severity]
