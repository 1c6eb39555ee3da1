"""The words of docs/style.md, in the sentences and names of the code."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "style.md").read_text(encoding="utf-8").partition("## Words")[2].partition("## Code")[0]
NOT = [
    word.strip()
    for cell in re.findall(r"^\|.*\| ([^|]*) \|$", PAGE, re.MULTILINE)[1:]
    for word in cell.split(",")
    if word.strip(" -")
]
VERBS = {"say", "agree", "unsaid", "tell"}
"""Words that sentences may hold and names may not."""
THEIRS = {"tell"}
"""A method of files."""
_SENTENCE = re.compile(r"[a-z,] [a-z]")


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment, and of each string that has words with a space between."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and _SENTENCE.search(token.string)):
            yield token.start[0], token.string


def _pattern(word: str) -> str:
    return rf"(?<!there )\b{word.split()[0]} no (?!longer|one)" if " no " in word else rf"\b{word}\b"


def test_no_sentence_has_a_word_that_the_style_page_replaces() -> None:
    refused = re.compile("|".join(_pattern(word) for word in NOT if word not in VERBS), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line} {match[0]}"
        for path in sorted((ROOT / "rocm_doctor").rglob("*.py"))
        if refused.search(whole := path.read_text(encoding="utf-8"))
        for line, text in _sentences(whole)
        for match in refused.finditer(text)
    ]
    assert found == []
    assert len(NOT) > 10


def test_no_function_has_a_name_that_the_style_page_replaces() -> None:
    refused = "|".join({*NOT} - THEIRS)
    definition = re.compile(rf"^\s*(?:def|class) _*(?:{refused})_*\b", re.MULTILINE)
    paths = sorted((ROOT / "rocm_doctor").rglob("*.py"))
    assert [(path, found) for path in paths if (found := definition.findall(path.read_text(encoding="utf-8")))] == []
