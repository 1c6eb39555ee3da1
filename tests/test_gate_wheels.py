"""The gate on environments that pip really installed; the expected answers were written before the first run."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from called import called
from environments import version_py

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="the wheels are for Linux")]
JAX = ("jax==0.10.2", "jax-rocm7-pjrt==0.10.2")
FORGED = "2.9.1+rocm6.4"
"""A torch that is there as its version file: the wheel has gigabytes."""


@pytest.fixture(scope="module")
def venvs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...], bool], Path]:
    """The environment with these packages, with a forged torch beside them or without: each is installed once."""

    @functools.cache
    def made(requirements: tuple[str, ...], forged: bool) -> Path:
        venv = install(tmp_path_factory.mktemp("gate") / "venv", *requirements)
        if forged:
            forge_torch(venv)
        return venv

    return made


def install(folder: Path, *requirements: str) -> Path:
    """A virtual environment with these packages and nothing that they require. Skips where the index has none of them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "bin" / "python"),
        "install",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
    ]
    try:
        done = subprocess.run([*pip, *requirements], capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{', '.join(requirements)} could not be fetched within 300 s")
    if done.returncode:
        pytest.skip(f"{', '.join(requirements)} cannot be installed here: {done.stderr.strip()[-160:]}")
    return folder


def forge_torch(folder: Path) -> None:
    [site] = (folder / "lib").glob("python*/site-packages")
    (site / f"torch-{FORGED}.dist-info").mkdir()
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text(version_py(FORGED))


@pytest.mark.parametrize(
    ("requirements", "forged", "gpu", "code", "verdict", "errors"),
    [
        ((*JAX, "jax-rocm7-plugin==0.10.2"), False, "gfx1100", 0, "ready", []),
        ((*JAX, "jax-rocm7-plugin==0.10.2"), False, "MI300X", 0, "ready", []),
        ((*JAX, "jax-rocm7-plugin==0.9.1"), False, "gfx942", 1, "problems", ["version.package-mismatch"]),
        (("jax==0.10.2",), False, "gfx942", 1, "problems", ["version.no-framework"]),
        (("bitsandbytes==0.49.2",), True, "gfx1100", 0, "ready", []),
        (("bitsandbytes==0.50.2",), True, "gfx90a", 0, "ready", []),
        (("bitsandbytes==0.50.2",), True, "gfx906", 1, "problems", ["arch.blas-missing"]),
        (("torch==2.13.0",), False, "gfx1100", 1, "problems", ["version.torch-not-rocm"]),
    ],
)
def test_an_installed_environment_gets_the_answer_that_is_right(
    venvs: Callable[[tuple[str, ...], bool], Path],
    requirements: tuple[str, ...],
    forged: bool,
    gpu: str,
    code: int,
    verdict: str,
    errors: list[str],
) -> None:
    venv = venvs(requirements, forged)
    done = called("check", "--gpu", gpu, "--python", str(venv), "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"]) == (code, verdict), report["summary"]
    assert [f["id"] for f in report["findings"] if f["severity"] == "error"] == errors
