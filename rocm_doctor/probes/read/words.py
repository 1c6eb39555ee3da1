"""The set of words in a text: checked first, it replaces a thousand searches of a large text by one pass."""

from __future__ import annotations

from functools import cache

from rocm_doctor.bounded.patterns import regex

_LETTERS = regex(r"[a-z]+")
# Letters become lower case, line ends stay, anything else becomes a blank.
_WORDS = bytes((c | 32) if chr(c).isalpha() and c < 128 else c if c == 10 else 32 for c in range(256))
_SMALL = 50_000
"""Characters up to which searching a fragment costs less than collecting the words."""
_MOST = 2_000_000
"""Characters of lines that differ in more than their numbers; a text with more is not a log (base64, a dump) and is not split."""


class WordSet:
    """The runs of ASCII letters in a text, in lower case. `known`: few enough to collect. Not used for a `small` text."""

    def __init__(self, text: str) -> None:
        self.small = len(text) <= _SMALL
        # Without their numbers most lines of a log are equal: duplicates are dropped before lines are split into words.
        lines = b"" if self.small else b" ".join(set(text.encode("ascii", "replace").translate(_WORDS).split(b"\n")))
        self.known = len(lines) <= _MOST
        self._words = set(lines.split()) if self.known else set()
        self._joined = b" ".join([b"", *self._words, b""])
        self._asked: dict[bytes, bool] = {}

    def may_hold(self, *fragments: str) -> bool:
        """False if the text cannot hold all these fragments (in lower case); True does not prove that it does."""
        return self.small or not self.known or all(self._holds(run) for fragment in fragments for run in _runs(fragment))

    def _holds(self, run: bytes) -> bool:
        if run not in self._asked:
            word = run.strip()
            self._asked[run] = word in self._words if len(run) - len(word) == 2 else run in self._joined
        return self._asked[run]


@cache
def _runs(fragment: str) -> tuple[bytes, ...]:
    """The runs of letters in a fragment of plain text, as bytes. A text with the fragment has each of them. A blank before or
    after a run marks that the fragment itself ends the run there. Runs with both come first: they are the quickest to look up."""
    found = _LETTERS.finditer(fragment)
    runs = ((" " if f.start() else "") + f[0] + (" " if f.end() < len(fragment) else "") for f in found)
    return tuple(sorted((run.encode() for run in runs), key=lambda run: len(run.strip()) - len(run)))
