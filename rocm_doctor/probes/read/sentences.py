"""The sentences of a pasted text: prose is split, a line of output stays whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document

HEAD, TAIL = 96_000, 32_000
"""Characters read at the start and at the end of a text: people write around the log, not in the middle of it."""
LONGEST = 4_000
"""Characters read of a line."""
ALIKE = 20
"""Lines read of those that differ in their digits only."""
_END = regex(r"(?<=[.!?])[\"')`*]{0,3}\s+(?=[\"'(`*]{0,3}\w)|;\s+")
_ABBREVIATION = regex(r"(?:\b(?:e\.g|i\.e|vs|etc|no|approx|ver|incl|ca|resp|cf|v)|\.\.)\.$", re.I)
_EMPHASIS = str.maketrans("*`|\u2022", "    ")
_DIGITS = dict.fromkeys(map(ord, "0123456789"))


class Sentence(NamedTuple):
    """A sentence of prose, or a part of a line of output. `text` is without emphasis marks. `reading` is where it was read: the
    artifact, the line, and up to 200 characters of it as the quote."""

    text: str
    reading: Reading


def sentences(document: Document) -> list[Sentence]:
    """The sentences of the text's first and last part, in order."""
    found: list[Sentence] = []
    shapes: Counter[str] = Counter()
    for number, line in _lines(document.text):
        shape = line[:LONGEST].translate(_DIGITS)
        shapes[shape] += 1
        for part in _split(line[:LONGEST].translate(_EMPHASIS)) if shapes[shape] <= ALIKE else ():
            if part.strip():
                found.append(Sentence(part, Reading(document.name, f"line {number}", " ".join(part.split())[:200])))
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the text's first and last part."""
    if len(text) <= HEAD + TAIL:
        yield from enumerate(text.split("\n"), 1)
        return
    yield from enumerate(text[:HEAD].split("\n"), 1)
    start = text.find("\n", len(text) - TAIL) + 1 or len(text) - TAIL
    yield from enumerate(text[start:].split("\n"), 1 + text.count("\n", 0, start))


def _split(line: str) -> Iterator[str]:
    place = 0
    for gap in _END.finditer(line):
        if gap[0][0] == ";" or not _ABBREVIATION.search(line, max(0, gap.start() - 8), gap.start()):
            yield line[place : gap.start()]
            place = gap.end()
    yield line[place:]
