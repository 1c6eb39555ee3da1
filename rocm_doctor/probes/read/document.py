"""One artifact's text, which may be large: lines that hold a word are found by substring search, not by a pattern over all lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.words import WordSet

WINDOW = 1200
"""Characters kept on each side of a hit in a line without end (tool output pasted as one line)."""
MOST = 400
"""Lines read for one word: the first ones matter; more of them are a hostile or looping log."""
KEPT = 400_000
"""Characters read at the start and the end of a text: programs print their versions there, not in mid-log."""


class Line(NamedTuple):
    """One line: its number from 1, its text, and the offset of that text."""

    number: int
    text: str
    start: int


class Document:
    """One artifact's text, with lines found on demand; a very long text is cut to its first and last part (KEPT)."""

    def __init__(self, artifact: Artifact) -> None:
        self.name = artifact.name
        text = artifact.text
        self.text = text if len(text) <= 2 * KEPT else text[:KEPT] + "\n" + text[-KEPT:]
        self.hidden = 0 if len(text) <= 2 * KEPT else text.count("\n", KEPT, len(text) - KEPT) - 1

    @cached_property
    def low(self) -> str:
        """The text in lower case with every character at its offset (a dotted capital I would become two)."""
        return self.text.replace("\u0130", "I").lower()

    @cached_property
    def words(self) -> WordSet:
        """The words of the text, collected once."""
        return WordSet(self.text)

    @cached_property
    def _ends(self) -> list[int]:
        """The offset behind each line, line break included."""
        return list(accumulate(len(line) + 1 for line in self.text.split("\n")))

    def line_number(self, place: int) -> int:
        """The number of the line at that offset, from 1, as editors count."""
        return bisect_right(self._ends, place) + 1 + (self.hidden if place > KEPT else 0)

    def has(self, *needles: str) -> bool:
        """True if one of the words (in lower case) occurs."""
        return any(needle in self.low for needle in needles)

    def line(self, place: int) -> Line:
        """The line at an offset, cut to a window if it is very long."""
        start = max(self.text.rfind("\n", max(0, place - WINDOW), place) + 1, place - WINDOW, 0)
        end = self.text.find("\n", place, place + WINDOW)
        end = min(len(self.text), place + WINDOW) if end < 0 else end
        return Line(0, self.text[start:end].rstrip("\r"), start)

    def find_lines(self, *needles: str, most: int = MOST) -> Iterator[Line]:
        """The lines that hold one of the words (in lower case), in the order of the text, each once."""
        places = sorted({line.start for needle in needles for line in self._hits(needle, most)})
        for place in places[:most]:
            yield self.line(place)._replace(number=self.line_number(place))

    def _hits(self, needle: str, most: int) -> Iterator[Line]:
        place = self.low.find(needle) if self.words.may_hold(needle) else -1
        while place >= 0 and most > 0:
            line = self.line(place)
            yield line
            most -= 1
            place = self.low.find(needle, max(line.start + len(line.text), place + len(needle)))

    def after(self, line: Line, count: int) -> Iterator[Line]:
        """The next `count` lines, fewer at the end of the text."""
        place = line.start
        for step in range(1, count + 1):
            place = self.text.find("\n", place, place + 2 * WINDOW) + 1
            if place <= 0 or place >= len(self.text):
                return
            yield self.line(place)._replace(number=line.number + step, start=place)

    def reading(self, line: Line, quote: str = "") -> Reading:
        return Reading(self.name, f"line {line.number}" if line.number else "", " ".join((quote or line.text).split())[:200])
