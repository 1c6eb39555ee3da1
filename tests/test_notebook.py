"""Notebooks: what a report shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from test_formats_browser import EVIL, hostile

import rocm_doctor
from rocm_doctor import check
from rocm_doctor.reports.html import part
from rocm_doctor.reports.html_style import STYLE

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
WRONG = FIXTURES / "mi50-wrong-override"


def shown(answer: Any) -> str:
    page: str = answer._repr_html_()
    assert page.startswith('<div class="rocm-doctor"><style>')
    assert page.endswith("</div>")
    return page


def test_a_report_shows_itself() -> None:
    page = shown(check(WRONG))
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx906" in page
    assert "<pre>unset HSA_OVERRIDE_GFX_VERSION</pre>" in page


def test_a_report_is_shown_redacted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "RX 7900 XTX\nFile /home/quokka/x.py\nRuntimeError: HIP error: invalid device function quokka@trainbox\n"
    )
    assert "quokka" not in shown(check(tmp_path / "log"))


def test_a_hostile_report_stays_text() -> None:
    page = part(hostile())
    assert EVIL not in page
    assert set(re.findall(r"<(script|img|svg|iframe)", page)) == set()


def test_the_style_is_that_of_the_piece_alone() -> None:
    style = re.sub(r"(?s)^.*<style>(.*)</style>.*$", r"\1", part(check(WRONG)))
    assert style.startswith(".rocm-doctor.rocm-doctor.rocm-doctor {table, pre, code { color: inherit; }")
    assert not re.search(r":root|(?<!t)\bbody\b", style)
    assert style.count("{") == style.count("}") == STYLE.count("{") + 3


def test_every_public_name_is_there() -> None:
    assert all(getattr(rocm_doctor, name) for name in rocm_doctor.__all__)
    with pytest.raises(AttributeError):
        _ = rocm_doctor.nonsense
