"""Where the literal hints of rules stand in a text: by three letters of each, looked up once for every distinct word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress

from rocm_doctor.bounded.patterns import regex

_LETTERS = regex(r"[a-z]+")
_GAP = regex(r"[^a-z]")
_PIECE = 1 << 16
"""Characters whose places are put in order at a time."""
_MARGIN = 64
"""Characters by which a hint may begin before the letters that it is known by, and more."""
_LONG_RUN = 8
"""Times that a sign is repeated in a line that is drawn, or in a flood: within it, nothing begins."""
_RUN = regex(r"(?s)(.)\1*")
_REMEMBERED = 100_000
"""Distinct words."""


class Hints:
    """Lower-case hints, ready to search. Most are known by three letters, few by nothing but their signs."""

    def __init__(self, hints: Iterable[str]) -> None:
        self._by_letters: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        self._others: list[str] = []
        self._of_other_scripts: list[str] = []
        self._words: set[str] = set()
        self._of_word: dict[str, list[str]] = {}
        for hint in sorted(hints, key=len):
            run = max(_LETTERS.finditer(hint), key=lambda r: len(r[0]), default=None) if hint.isascii() else None
            alone = f"{' ' * (run.start() > 0)}{run[0]}{' ' * (run.end() < len(hint))}" if run else ""
            if run is None or len(alone) < 3:
                (self._others if hint.isascii() else self._of_other_scripts).append(hint)
            else:
                self._by_letters.setdefault(tuple(alone[:3]), []).append((alone, hint))

    def places(self, low: str) -> Iterator[tuple[int, str]]:
        """Each place of a hint in `low`, in order, with the longest one there. A run of backslashes is one place.

        >>> list(Hints(("\\\\", "hom", "home")).places(r"a \\\\ home"))
        [(2, '\\\\'), (5, 'home')]
        """
        found: dict[int, str] = {}
        others = self._others if low.isascii() else [*self._others, *self._of_other_scripts]
        begin = 0
        while begin < len(low):
            gap = _GAP.search(low, begin + _PIECE)
            end = gap.start() if gap else len(low)
            words = set(_LETTERS.findall(low, begin, end))
            if new := words - self._words:
                self._look_at(new)
            words &= self._of_word.keys()
            hints = {hint for word in words for hint in self._of_word[word]}
            self._one_by_one((*others, *hints), low, begin, end, found)
            ordered = sorted(found.items())
            found = {}
            for at, hint in ordered:
                if at < end - _MARGIN or end == len(low):
                    yield at, hint
                else:
                    found[at] = hint
            begin = end

    def _one_by_one(self, hints: Iterable[str], low: str, begin: int, end: int, found: dict[int, str]) -> None:
        first = max(0, begin - _MARGIN)
        for hint in hints:
            stop = end + len(hint) - 1
            at = low.find(hint, first, stop)
            if at < 0:
                continue
            escaped = hint[0] == "\\"
            ruler = hint * _LONG_RUN if len(set(hint)) == 1 else ""
            while at >= 0:
                if len(hint) > len(found.get(at, "")) and not (escaped and low[at - 1 : at + 1] == "\\\\"):
                    found[at] = hint
                if ruler and low.startswith(ruler, at):  # its ends
                    at = max(at, _RUN.match(low, at, stop).end() - len(hint) - 1)  # type: ignore[union-attr]
                at = low.find(hint, at + 1, stop)

    def _look_at(self, words: set[str]) -> None:
        """Remember which hints may stand at these words."""
        if len(self._words) > _REMEMBERED:
            self._words.clear()
            self._of_word.clear()
        self._words |= words
        joined = f" {' '.join(words)} "
        word, start, end = "", 0, 0
        for at in compress(range(len(joined)), map(self._by_letters.__contains__, zip(joined, joined[1:], joined[2:]))):
            if at >= end:
                start = joined.rfind(" ", end, at + 1) + 1
                end = joined.index(" ", start)
                word = joined[start:end]
            for run, hint in self._by_letters[tuple(joined[at : at + 3])]:
                if joined.startswith(run, at):
                    self._of_word.setdefault(word, []).append(hint)
