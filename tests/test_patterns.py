"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re

import pytest

from rocm_doctor.bounded.patterns import regex


def test_a_pattern_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as nothing:
        nothing.setattr(re, "compile", lambda *_: pytest.fail("compiled"))
        late = regex("GFX9", re.IGNORECASE)
    assert late.findall("gfx906 gfx9") == ["gfx9", "gfx9"]
    assert (late.sub("x", "gfx906"), late.pattern, late.search("rdna")) == ("x06", "GFX9", None)
