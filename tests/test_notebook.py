"""Notebooks: what a report shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import rocm_doctor
from rocm_doctor import check

WRONG = Path(__file__).resolve().parents[1] / "fixtures" / "mi50-wrong-override"


def test_a_report_and_a_finding_show_themselves() -> None:
    report = check(WRONG)
    for page in (report._repr_markdown_(), report.findings[0]._repr_markdown_()):
        assert "makes gfx906 load gfx1030 code" in page
        assert "```sh\nunset HSA_OVERRIDE_GFX_VERSION\n" in page


def test_a_report_is_shown_redacted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "RX 7900 XTX\nFile /home/quokka/x.py\nRuntimeError: HIP error: invalid device function quokka@trainbox\n"
    )
    assert "quokka" not in check(tmp_path / "log")._repr_markdown_()


def test_every_public_name_is_there() -> None:
    assert all(getattr(rocm_doctor, name) for name in rocm_doctor.__all__)
    with pytest.raises(AttributeError):
        _ = rocm_doctor.nonsense
