"""The environment that is active in the shell is examined, also when the doctor runs from one of its own (pipx, uvx)."""

from __future__ import annotations

import os
import subprocess
import sys
import venv as venv_module
from pathlib import Path

import pytest

from rocm_doctor.cli.inputs import this_system

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the layout of the environment is the one of Unix")
SCRIPT = "import sys; sys.argv[0] = 'rocm-doctor'; from rocm_doctor.cli import program; program()"
"""What the installed script `rocm-doctor` runs."""


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment with a CUDA torch, as its files show it."""
    venv_module.create(tmp_path / "venv", with_pip=False)
    [site] = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("__version__ = '2.9.1+cu128'\ncuda = '12.8'\nhip = None\n", encoding="utf-8")
    (site / "torch-2.9.1.dist-info").mkdir()
    return tmp_path / "venv"


def probe(*program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    command = [sys.executable, *program, "probe"]
    return subprocess.run(command, env={**env, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_is_examined_and_named(venv: Path, name: str) -> None:
    done = probe("-c", SCRIPT, **{name: str(venv)})
    assert "torch.version: 2.9.1+cu128" in done.stdout
    assert f"examining {venv}/bin/python" in done.stderr


def test_the_environment_of_the_doctor_is_no_other(venv: Path) -> None:
    """Nothing is active or our own environment is: nothing is said. The folder is gone, or has no Python: that is."""
    for variables in ({}, {"VIRTUAL_ENV": sys.prefix}, {"VIRTUAL_ENV": str(venv / "gone")}, {"VIRTUAL_ENV": str(venv / "lib")}):
        done = probe("-c", SCRIPT, **variables)
        assert f"python.prefix: {sys.prefix}" in done.stdout
        assert ("is not there; examining the doctor's own" if "gone" in str(variables) else "") in done.stderr
        assert ("lib, the active environment, has no Python" in done.stderr) == ("lib" in variables.get("VIRTUAL_ENV", "")[-3:])
        assert "of the active environment" not in done.stderr


def test_an_interpreter_that_was_called_by_name_is_meant(venv: Path) -> None:
    assert f"python.prefix: {sys.prefix}" in probe("-m", "rocm_doctor", VIRTUAL_ENV=str(venv)).stdout


def test_a_plan_made_inside_wsl_is_for_wsl(tmp_path: Path) -> None:
    (tmp_path / "wsl").write_text("6.6.87.2-microsoft-standard-WSL2\n")
    (tmp_path / "linux").write_text("6.14.0-28-generic\n")
    assert [this_system(tmp_path / name) for name in ("wsl", "linux", "none")] == ["wsl", "linux", "linux"]
