"""A command after which its script goes on where it fails is a note at most."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

TORCH = "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"
FLASH = "pip install flash-attn --no-build-isolation"


@pytest.mark.parametrize(("line", "found"), [
    (FLASH, ["lib.flash-attn"]), (f'{FLASH} || echo "SDPA is used"', []), (f"{FLASH} 2>/dev/null && echo ok || echo no", []),
    (f"{FLASH} || true", []), (f"{FLASH} || exit 1", ["lib.flash-attn"]), (f"{FLASH} || {{ echo no; exit 1; }}", ["lib.flash-attn"]),
    (f"{FLASH} && echo ok", ["lib.flash-attn"]), (f"if ! {FLASH}; then echo no; fi", []), (f"set -e\n({FLASH}) || :", []),
    (f"{FLASH} || die no", ["lib.flash-attn"]), ("pip install vllm || echo no", ["version.torch-not-rocm"]),
])  # fmt: skip
@pytest.mark.parametrize("name", ["install_rocm.sh", "Dockerfile.rocm"])
def test_a_command_that_may_fail(tmp_path: Path, name: str, line: str, found: list[str]) -> None:
    text = TORCH + line + "\n"
    if name.startswith("Dockerfile"):
        text = "FROM ubuntu:24.04\n" + "".join(f"RUN {one}\n" for one in text.splitlines())
    ids = {f.id for f in serious(report(tmp_path, {name: text}))} & {"lib.flash-attn", "version.torch-not-rocm"}
    assert sorted(ids) == found


@pytest.mark.parametrize(("line", "found"), [
    (TORCH, []),
    ("pip install https://repo.radeon.com/rocm/manylinux/rocm-rel-6.4/torch-2.6.0%2Brocm6.4.0.git2fb0ac2b-cp312-cp312-linux_x86_64.whl\n", ["version.torch-not-rocm"]),
])  # fmt: skip
def test_a_wheel_with_the_runtime_needs_no_image_of_amd(tmp_path: Path, line: str, found: list[str]) -> None:
    """PyTorch's wheels bring HIP with them; those of AMD's folder link to what the system has."""
    image = f"ARG BASE=nvidia/cuda:12.9.1-cudnn-runtime-ubuntu24.04\nFROM ${{BASE}}\nRUN {line}"
    said = serious(report(tmp_path, {"Dockerfile.rocm": image}))
    assert [f.id for f in said if "base image" in f.title] == found


def test_a_script_for_windows_gets_no_index_for_linux(tmp_path: Path) -> None:
    line = "pip install torch==2.5.1 torchvision --index-url https://download.pytorch.org/whl/cu124\n"
    (batch,) = serious(report(tmp_path / "a", {"install.bat": line}))
    assert "is for Windows. Add a script for Linux with: pip install torch==2.5.1+rocm6.2" in batch.advice
    (shell,) = serious(report(tmp_path / "b", {"install.sh": line}))
    assert "Add a branch for AMD GPUs before the command on line 1 of install.sh" in shell.advice
