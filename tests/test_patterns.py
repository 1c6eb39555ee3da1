"""Patterns that are compiled when a text may match them: they find what re.compile finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import needed_words
import pytest
import yaml

from rocm_doctor.bounded import patterns
from rocm_doctor.bounded.patterns import BEYOND_ASCII, regex
from rocm_doctor.redaction.known import WordList, compounds

ROOT = Path(__file__).resolve().parent.parent
TABLE = msgspec.json.decode((ROOT / "rocm_doctor" / "bounded" / "needed.json").read_bytes(), type=dict[str, list[str]])


class Asked(list[str]):
    """Words that count how often a text is searched for them."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_a_text_without_its_words_is_looked_through_once_for_all_positions() -> None:
    """A pattern that is tried at each word of a long text would else take quadratic time."""
    words, text = Asked(["<host-"]), "a word, " * 10
    match = patterns.Late(r"<host-\d+>", 0)._unless(words, "match")
    assert [match(text, at) for at in range(len(text))] == [None] * len(text)
    assert words.times == 1
    assert match("<host-1>", 0)[0] == "<host-1>"
    assert patterns.Late("x+", 0)._unless(["x"], "sub")("", "axxb") == "ab"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?i)(?:my |the )?(?:Ubuntu|Debian) \d+", {"ubuntu", "debian"}),
        (r"\d+|gfx", set()),
        (r"(?:torch)?\d", set()),
        (r"(?:torch)+\d", {"torch"}),
        (r"[Tt]his is", {"this is"}),
        (r"a.{3}sudo(?=-rs)", {"sudo"}),
        (r"(?<=name:)x", {"name:"}),
        (r"(?!never)x", set()),
        (r"rocm|rocminfo", {"rocm"}),
        (r"[\u4e00-\u9fff]", {BEYOND_ASCII}),
        (r"\u212a|\u017f", set()),
        (r"(?s:.*)(?P<a>ab)(?P=a)", {"ab"}),
    ],
)
def test_what_a_pattern_needs(pattern: str, words: set[str]) -> None:
    assert needed_words.needed(pattern) == words


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"skip", "\u017fKIP"),
        (r"kill", "\u212aILL"),
        (r"disk", "D\u0130SK"),
        (r"disk", "d\u0131sk"),
        (r"MIOPEN", "miopen"),
    ],
)
def test_a_text_that_matches_holds_what_is_needed(pattern: str, text: str) -> None:
    """Letters beyond ASCII that IGNORECASE takes for one of ASCII."""
    assert re.search(pattern, text, re.IGNORECASE)
    assert any(word in patterns._lowered(text) for word in needed_words.needed(pattern, re.IGNORECASE))


def test_no_pattern_of_the_table_misses_a_match() -> None:
    """In lines that people and tools wrote, each pattern matches only such as hold one of its words."""
    files = sorted((ROOT / "compat_matrix" / "reports" / "written").glob("*.yaml"))[:3]
    texts = [entry["text"] for file in files for entry in islice(yaml.load_all(file.read_text("utf-8"), yaml.CSafeLoader), 3)]
    lines = [
        (line, patterns._lowered(line)) for line in {*(line for text in texts for line in islice(text.split("\n"), 40)), *texts}
    ]
    for key, words in TABLE.items():
        flags, _, text = key.partition(":")
        pattern = re.compile(text, int(flags))
        without = [line for line, low in lines if not any(word in low for word in words)]
        assert not [line for line in without if pattern.search(line)], text


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("search", ()), ("match", ()), ("fullmatch", ()), ("finditer", ()), ("findall", ()), ("split", ()), ("sub", ("x",)), ("search", (2,)),
    ],
)  # fmt: skip
def test_the_methods_are_those_of_re(method: str, arguments: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a text may match, with it, and behind it."""
    monkeypatch.setattr(patterns, "_needed", lambda: {"0:gfx9": ["gfx9"]})
    late, compiled = regex("gfx9"), re.compile("gfx9")
    for text in ("rdna", "gfx906 gfx9", "gfx9", "cdna"):
        given = (*arguments, text) if method == "sub" else (text, *arguments)
        found, expected = (getattr(one, method)(*given) for one in (late, compiled))
        plain = (
            [m if isinstance(m, str) else m and m.span() for m in found] if method in ("finditer", "findall", "split") else found
        )
        wanted = (
            [m if isinstance(m, str) else m and m.span() for m in expected]
            if method in ("finditer", "findall", "split")
            else expected
        )
        assert (plain.span() if isinstance(plain, re.Match) else plain) == (
            wanted.span() if isinstance(wanted, re.Match) else wanted
        )


def test_a_text_that_cannot_match_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_needed", lambda: {"0:gfx9": ["gfx9"]})
    late = regex("gfx9")
    monkeypatch.setattr(re, "compile", lambda *_: pytest.fail("compiled"))
    assert late.search("rdna") is None


def test_a_list_of_words_holds_the_same_words_however_it_is_searched() -> None:
    once, all_ = WordList("compounds"), frozenset(compounds())
    asked = [*sorted(all_)[::40], "", "a", "zzz", "text-generation", "text-generation-webui ", "\u00e4"]
    assert [word in once for word in asked] == [word in all_ for word in asked]
    assert set(once) == all_
    once._searches = 0
    assert [word in once for word in asked] == [word in all_ for word in asked]
    assert once.isdisjoint({"zzz"})
    assert not once.isdisjoint({"zzz", "text-generation-webui"})
