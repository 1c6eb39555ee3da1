"""`env` answers for the torch that is installed in the environment, and for plan's first stack only where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the layout of the environment is the one of Unix")


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    return tmp_path / "venv"


def having_torch(venv: Path, version: str, hip: str) -> None:
    [site] = venv.glob("lib/python*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text(f"__version__ = '{version}'\ncuda = None\nhip = {hip!r}\n", encoding="utf-8")
    (site / f"torch-{version}.dist-info").mkdir()


def env(venv: Path, gpu: str, *more: str) -> Result:
    return CliRunner().invoke(cli, ["env", "--gpu", gpu, "--python", str(venv), *more], catch_exceptions=False)


def test_the_installed_torch_decides_and_not_the_one_that_plan_would_install(venv: Path) -> None:
    """The wheels of ROCm 6.4 hold no gfx1032 code: this environment needs the override, whatever newer wheels hold."""
    having_torch(venv, "2.9.1+rocm6.4", "6.4.43484-123eb5128")
    done = env(venv, "gfx1032")
    assert "export HSA_OVERRIDE_GFX_VERSION=10.3.0" in done.output
    assert "for the installed torch 2.9.1+rocm6.4" in done.output


def test_without_a_torch_plans_first_stack_is_meant(venv: Path) -> None:
    assert "the first stack of plan" in env(venv, "gfx1032").output


def test_a_cuda_torch_does_not_count(venv: Path) -> None:
    having_torch(venv, "2.9.1+cu128", "")
    assert "the first stack of plan" in env(venv, "gfx1032").output


def test_an_installed_torch_that_cannot_work_is_said(venv: Path) -> None:
    """There is no code for gfx906 in the wheels of ROCm 7.2, and no setting reaches any."""
    having_torch(venv, "2.13.0+rocm7.2", "7.2.26015-fc0010cf6a")
    done = env(venv, "gfx803")
    assert done.exit_code == 1
    assert "no variable mends this: torch 2.13.0+rocm7.2 has no code for gfx803" in done.output


def test_a_plan_for_another_gpu_is_made_around_the_environment(venv: Path) -> None:
    """`plan --gpu` starts from what `check --gpu` says of the environment."""
    having_torch(venv, "2.9.1+cu128", "")
    done = CliRunner().invoke(cli, ["plan", "--gpu", "gfx1100", "--python", str(venv)], catch_exceptions=False)
    assert "in place of 2.9.1+cu128" in done.output
    assert f"{venv}/bin/python -m pip uninstall -y torch" in done.output, "the environment that was named, not that of the shell"
    assert f"rocm-doctor check --python {venv}/bin/python" in done.output
