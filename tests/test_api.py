"""`check` and `require` from Python: what a training script sees when the machine is not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rocm_doctor
from rocm_doctor import NotReady, check, require

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
READY = str(FIXTURES / "rx7900xtx-ready")
WRONG = str(FIXTURES / "mi50-wrong-override")
ENV = {**os.environ, "PYTHONPATH": str(FIXTURES.parent)}


def test_a_machine_that_is_fit_gives_its_report() -> None:
    report = require(READY, target="gfx1100", fail_on="warning")
    assert report.verdict == "ready"
    assert report == check(READY)


def test_one_that_is_not_raises_with_the_report() -> None:
    with pytest.raises(NotReady, match=r"HSA_OVERRIDE_GFX_VERSION") as caught:
        require(WRONG)
    assert caught.value.report.verdict == "problems"
    assert "unset HSA_OVERRIDE_GFX_VERSION" in str(caught.value)


def test_the_wrong_gpu_raises_although_it_would_train() -> None:
    with pytest.raises(NotReady, match=r"gfx942 is required, and gfx1100 is what this machine has"):
        require(READY, target="gfx942")


def test_what_is_ignored_does_not_count() -> None:
    ids = [f.id for f in check(WRONG).findings]
    assert require(WRONG, ignore=ids).verdict != "problems"


def test_strict_wants_a_verdict(tmp_path: Path) -> None:
    paste = tmp_path / "issue.md"
    paste.write_text("it does not work\n")
    assert require(paste).verdict == "undetermined"
    with pytest.raises(NotReady):
        require(paste, strict=True)


def test_a_script_ends_at_the_top_and_torch_is_not_imported(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nfrom rocm_doctor import require\n"
        f"try:\n    require({WRONG!r})\nfinally:\n    print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False, env=ENV)
    assert done.returncode == 1
    assert done.stdout.strip() == "False"
    assert "rocm_doctor.api.NotReady: rocm-doctor: not ready to train" in done.stderr


def test_importing_the_package_imports_none_of_it() -> None:
    code = "import sys, rocm_doctor; print([m for m in sys.modules if m.startswith('rocm_doctor.') or m == 'msgspec'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=ENV)
    assert done.stdout.strip() == "['rocm_doctor._version']"
    with pytest.raises(AttributeError):
        _ = rocm_doctor.nothing
