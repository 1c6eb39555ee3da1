"""Ways around a text that may be large: the lines that hold a word, found by substring search, not by a pattern over all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.notes import Artifacts, Notes

WINDOW = 1200
"""Characters kept on each side of a hit in a line without end (tool output pasted as one line)."""
MOST = 400
"""Lines looked at for one word: what matters stands in the first of them; the rest is a hostile or looping log."""

_NOT_STATED = frozenset((
    "", "n/a", "na", "none", "null", "unknown", "unsupported", "false", "<fill in>", "<redacted>", "[censored]", "?", "-", "nan",
    "not set", "not available", "not applicable", "not installed", "not found", "could not collect", "no cuda", "module not"
    " found",
))  # fmt: skip
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*(?:[-.+_]?[A-Za-z0-9][\w.+~-]*)?)", re.ASCII)
KEPT = 1_000_000
"""Characters read at the start and the end of a text: what programs say of themselves stands there, not in mid-log."""


class Line(NamedTuple):
    """One line: its number from 1, its words, and the place in the text where the words start."""

    number: int
    text: str
    start: int


class Page:
    """One artifact's text with its lines found on demand; of a very long one the first and the last part (KEPT)."""

    def __init__(self, artifact: Artifact) -> None:
        self.name = artifact.name
        text = artifact.text
        self.text = text if len(text) <= 2 * KEPT else text[:KEPT] + "\n" + text[-KEPT:]
        self.hidden = 0 if len(text) <= 2 * KEPT else text.count("\n", KEPT, len(text) - KEPT) - 1

    @cached_property
    def low(self) -> str:
        """The text in lower case, every character at its old place (a dotted capital I would become two)."""
        return self.text.replace("\u0130", "I").lower()

    def number_at(self, place: int) -> int:
        """The number of the line at that place, from 1, as the user's editor counts them."""
        return self.text.count("\n", 0, place) + 1 + (self.hidden if place > KEPT else 0)

    def has(self, *needles: str) -> bool:
        """Whether one of the words (in lower case) occurs."""
        return any(needle in self.low for needle in needles)

    def line(self, place: int) -> Line:
        """The line around a place, cut to a window where it is very long."""
        start = max(self.text.rfind("\n", max(0, place - WINDOW), place) + 1, place - WINDOW, 0)
        end = self.text.find("\n", place, place + WINDOW)
        end = min(len(self.text), place + WINDOW) if end < 0 else end
        return Line(0, self.text[start:end].rstrip("\r"), start)

    def lines_with(self, *needles: str, most: int = MOST) -> Iterator[Line]:
        """The lines that hold one of the words (in lower case), in the order of the text, each once."""
        places = sorted({line.start for needle in needles for line in self._hits(needle, most)})
        number, at = 1, 0
        for place in places[:most]:
            number += self.text.count("\n", at, place)
            at = place
            yield self.line(place)._replace(number=number + (self.hidden if place > KEPT else 0))

    def _hits(self, needle: str, most: int) -> Iterator[Line]:
        place = self.low.find(needle)
        while place >= 0 and most > 0:
            line = self.line(place)
            yield line
            most -= 1
            place = self.low.find(needle, max(line.start + len(line.text), place + len(needle)))

    def after(self, line: Line, count: int) -> Iterator[Line]:
        """The next `count` lines, as far as the text goes."""
        place = line.start
        for step in range(1, count + 1):
            place = self.text.find("\n", place, place + 2 * WINDOW) + 1
            if place <= 0 or place >= len(self.text):
                return
            yield self.line(place)._replace(number=line.number + step, start=place)

    def reading(self, line: Line, quote: str = "") -> Reading:
        return Reading(self.name, f"line {line.number}" if line.number else "", " ".join((quote or line.text).split())[:200])


def pages(artifacts: Artifacts, kind: str, *globs: str) -> list[Page]:
    """The texts where a tool's output may stand: what was cut out as that kind, else the whole pasted texts and logs."""
    own = artifacts.like(f"paste/*-{kind}", *globs)
    return [Page(a) for a in own or artifacts.like("paste/text*", "log/*")]


def whole(artifacts: Artifacts) -> list[Page]:
    """The whole pasted texts and logs."""
    return [Page(a) for a in artifacts.like("paste/text*", "log/*")]


class Says(NamedTuple):
    """Where a line holds `needle` (lower case) and fits `pattern`, its group is the value of `fact`."""

    needle: str
    pattern: re.Pattern[str]
    fact: str


def says(needle: str, pattern: str, fact: str, flags: int = 0) -> Says:
    return Says(needle, re.compile(pattern, flags), fact)


def say_rows(notes: Notes, page: Page, rows: Iterable[Says], tidy: Callable[[str], str]) -> None:
    """Each fact that these rows find in the page, its value tidied; a kernel release tells of WSL too."""
    for row in rows:
        for line in page.lines_with(row.needle, most=40):
            found = row.pattern.search(line.text)
            if found:
                notes.say(row.fact, tidy(found.group(1)), page.reading(line))
                if row.fact == "kernel":
                    notes.say("wsl", "microsoft" in found.group(1).lower(), page.reading(line))


def stated(value: str) -> str | None:
    """The value without outer blanks and quotes; None where a tool says that it has none."""
    value = value.strip().strip("'\"`").strip()
    empty = not value.strip("0xX:.-") and not value.isdigit()
    return None if empty or value.lower() in _NOT_STATED else value


def version_in(value: str) -> str | None:
    """The version that a value starts with (`3.10.12 (main, ...)` gives 3.10.12); None when it does not start with one."""
    found = _VERSION.match(value.strip().strip("'\"`"))
    return found.group(1).rstrip(".,;:)") if found else None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
