"""Which words a text holds at all: asked first, a thousand fragments cost one pass over a large text and not a thousand."""

from __future__ import annotations

import re
from functools import cache

_LETTERS = re.compile(r"[a-z]+")
# Letters as lower case, line ends as they are, anything else a blank.
_WORDS = bytes((c | 32) if chr(c).isalpha() and c < 128 else c if c == 10 else 32 for c in range(256))
_SMALL = 50_000
"""Characters up to which looking for a fragment costs less than asking for its words."""
_MOST = 2_000_000
"""Characters of lines that differ in more than their numbers: beyond, a text is no log (base64, a dump) and is not cut up."""


class WordSet:
    """The runs of ASCII letters of a text, in lower case. `known`: few enough to tell them. A `small` text is not asked."""

    def __init__(self, text: str) -> None:
        self.small = len(text) <= _SMALL
        # Without their numbers most lines of a log are alike: they are told apart before they are cut into words.
        lines = b"" if self.small else b" ".join(set(text.encode("ascii", "replace").translate(_WORDS).split(b"\n")))
        self.known = len(lines) <= _MOST
        self._words = set(lines.split()) if self.known else set()
        self._joined = b" ".join([b"", *self._words, b""])
        self._asked: dict[bytes, bool] = {}

    def may_hold(self, *fragments: str) -> bool:
        """Whether the text can hold all these fragments (in lower case): False is sure, True is not."""
        return self.small or not self.known or all(self._holds(run) for fragment in fragments for run in _runs(fragment))

    def _holds(self, run: bytes) -> bool:
        if run not in self._asked:
            word = run.strip()
            self._asked[run] = word in self._words if len(run) - len(word) == 2 else run in self._joined
        return self._asked[run]


@cache
def _runs(fragment: str) -> tuple[bytes, ...]:
    """Runs of letters that a text with this fragment holds; a blank stands where a run is known to begin or to end.

    Those known at both ends come first: they are the quickest to look up.
    """
    found = _LETTERS.finditer(fragment)
    runs = ((" " if f.start() else "") + f[0] + (" " if f.end() < len(fragment) else "") for f in found)
    return tuple(sorted((run.encode() for run in runs), key=lambda run: len(run.strip()) - len(run)))
