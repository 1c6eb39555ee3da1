"""How much a finding weighs by where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said

IMAGE = "FROM rocm/pytorch:rocm7.1_ubuntu24.04_py3.12_pytorch_release_2.8.0\n"
OLD = "pip3 install --pre torch --index-url https://download.pytorch.org/whl/rocm5.2\n"


@pytest.mark.parametrize(("folder", "weight"), [
    ("archive", "note"), ("scripts/retired", "note"), ("old", "note"), ("examples", "warning"), ("scripts", "error"),
])  # fmt: skip
def test_what_is_used_no_more_is_a_note(tmp_path: Path, folder: str, weight: str) -> None:
    found = report(tmp_path, {"Dockerfile": IMAGE, f"{folder}/install_rocm52.sh": OLD}).findings
    assert {f.severity for f in found if f.id == "version.python-unsupported"} == {weight}


@pytest.mark.parametrize(("name", "weight"), [
    ("scripts/probe_miopen.sh", "note"), ("debug/run.sh", "note"), ("profile-train.sh", "note"), ("scripts/train.sh", "warning"),
])  # fmt: skip
def test_a_script_that_probes_logs_on_purpose(tmp_path: Path, name: str, weight: str) -> None:
    files = {"Dockerfile": IMAGE, name: "export MIOPEN_ENABLE_LOGGING=1\npython probe.py 2> probe.log\n"}
    assert {f.severity for f in report(tmp_path, files).findings if f.id == "env.debug-switch"} == {weight}
    assert bool(said(report(tmp_path, files))) is (weight != "note")
