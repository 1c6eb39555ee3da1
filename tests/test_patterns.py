"""Patterns that are compiled at their first use, and lists of words that are searched without being unpacked."""

from __future__ import annotations

import re

import pytest

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import WordList, compounds


def test_a_pattern_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as nothing:
        nothing.setattr(re, "compile", lambda *_: pytest.fail("compiled"))
        late = regex("GFX9", re.IGNORECASE)
    assert late.findall("gfx906 gfx9") == ["gfx9", "gfx9"]
    assert (late.sub("x", "gfx906"), late.pattern, late.search("rdna")) == ("x06", "GFX9", None)


def test_a_list_of_words_holds_the_same_words_however_it_is_searched() -> None:
    once, all_ = WordList("compounds"), frozenset(compounds())
    asked = [*sorted(all_)[::40], "", "a", "zzz", "text-generation", "text-generation-webui ", "\u00e4"]
    assert [word in once for word in asked] == [word in all_ for word in asked]
    assert set(once) == all_
    once._searches = 0
    assert [word in once for word in asked] == [word in all_ for word in asked]
    assert once.isdisjoint({"zzz"})
    assert not once.isdisjoint({"zzz", "text-generation-webui"})
