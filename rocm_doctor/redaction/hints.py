"""Where the literal hints of rules stand in a text: only those are looked for whose letters are in one of its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.vocabulary import blocks

_LETTERS = regex(r"[a-z]+")
_MARGIN = 64
"""Characters of the longest hint, and more."""
_KEY = 3
"""Letters by which a hint is looked up. Those with fewer are looked for in every text."""
_LONG_RUN = 8
"""Times that a sign is repeated in a line that is drawn, or in a flood: within it, nothing begins."""
_RUN = regex(r"(?s)(.)\1*")


class Hints:
    """Lower-case hints, ready to search."""

    def __init__(self, hints: Iterable[str]) -> None:
        self._by_letters: dict[str, list[tuple[str, str]]] = {}
        self._others: set[str] = set()
        for hint in hints:
            letters = max(_LETTERS.findall(hint), key=len, default="") if hint.isascii() else ""
            if len(letters) < _KEY:
                self._others.add(hint)
            else:
                self._by_letters.setdefault(letters[:_KEY], []).append((letters, hint))

    def _hints_of_word(self, word: str) -> Iterator[str]:
        """The hints whose letters are in a word."""
        for at in range(len(word) - _KEY + 1):
            for letters, hint in self._by_letters.get(word[at : at + _KEY], ()):
                if word.startswith(letters, at):
                    yield hint

    def places(self, low: str) -> Iterator[tuple[int, str]]:
        """Each place of a hint in `low`, in order, with the longest one there. A run of backslashes is one place.

        >>> list(Hints(("\\\\", "hom", "home")).places(r"a \\\\ home"))
        [(2, '\\\\'), (5, 'home')]
        """
        for begin, end in blocks(low, len(low)):
            words = set(_LETTERS.findall(low, begin, end + _MARGIN))
            hints = {hint for word in words for hint in self._hints_of_word(word)} | self._others
            there = (hint for hint in hints if low.find(hint, begin, end + _MARGIN) >= 0)
            found = {at: hint for hint in sorted(there, key=len) for at in _each(hint, low, begin, end)}
            yield from sorted(found.items())


def _each(hint: str, low: str, begin: int, end: int) -> Iterator[int]:
    """The places of one hint that begin from `begin` on and before `end`."""
    ruler = hint * _LONG_RUN if len(set(hint)) == 1 else ""
    stop = end + len(hint) - 1
    at = low.find(hint, begin, stop)
    while at >= 0:
        if hint[0] != "\\" or low[at - 1 : at + 1] != "\\\\":
            yield at
        if ruler and low.startswith(ruler, at):  # its ends
            at = max(at, _RUN.match(low, at, stop).end() - len(hint) - 1)  # type: ignore[union-attr]
        at = low.find(hint, at + 1, stop)
