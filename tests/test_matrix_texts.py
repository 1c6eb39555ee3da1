"""What the lint refuses in any text of the matrix, and the bounds of the catalog: each case with its healthy neighbour."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import msgspec
import pytest
from matrix_machines import MATRIX

from rocm_doctor.matrix.checks import lint
from rocm_doctor.matrix.checks.text import personal_data

SOURCE = Path(__file__).resolve().parents[1] / "compat_matrix"
ROW = MATRIX.rows[0]


@pytest.mark.parametrize("private", [
    "192.168.1.20", "10.0.3.4", "172.16.0.1", "172.31.255.2", "/home/anna", "/Users/anna", "C:\\Users\\anna", "anna@example.org",
])  # fmt: skip
def test_what_belongs_to_a_person_or_a_private_network_is_refused(private: str) -> None:
    for field in ("title", "cause", "advice"):
        assert list(personal_data(msgspec.structs.replace(ROW, **{field: f"seen at {private} once"})))
    assert list(personal_data(msgspec.structs.replace(ROW, sources=(f"see {private}",))))


@pytest.mark.parametrize("public", ["172.32.0.1", "8.8.8.8", "ROCm 10.1.0", "7.0.0.70000", "~/.cache", "pip @ file"])
def test_what_belongs_to_nobody_is_not(public: str) -> None:
    assert not list(personal_data(msgspec.structs.replace(ROW, cause=f"seen at {public} once")))


def test_entries_of_the_catalog_that_contradict_themselves(tmp_path: Path) -> None:
    root = Path(shutil.copytree(SOURCE, tmp_path / "m", ignore=shutil.ignore_patterns("reports")))
    planted = (
        ("catalog/gfx.yaml", "wavefront_modes: [64]", "wavefront_modes: [32]", "not among the modes"),
        ("catalog/torch.yaml", "blas: {set: rocblas-rocm7.1}", "blas: [gfx1250]", "torch is not compiled for"),
    )
    for file, old, new, _ in planted:
        text = (root / file).read_text(encoding="utf-8")
        assert old in text
        (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    found = [p for p in lint(root, datetime.date.today()) if p.level == "error"]
    for file, _, _, words in planted:
        assert any(p.file == file and words in p.message for p in found), file
