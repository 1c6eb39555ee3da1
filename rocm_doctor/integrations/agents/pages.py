"""Long answers in pieces: a tool returns the first piece and a cursor, and `more` returns the next."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from threading import Lock

PAGE = 4_000
"""Characters of one piece: about 1,000 tokens."""
_KEPT = 16
"""Answers that are kept for their cursors, the newest."""
MOST = 8 << 20
"""Characters of one answer that are kept."""


class Pages:
    """The answers whose rest was not read yet. Tools run in threads of their own."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def first(self, text: str) -> tuple[str, str | None]:
        """The first piece of an answer, and the cursor of the next one; None if it is whole."""
        if len(text) <= PAGE:
            return text, None
        key = secrets.token_hex(8)
        with self._lock:
            self._answers[key] = text[:MOST]
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return self.at(f"{key}.0")

    def at(self, cursor: str) -> tuple[str, str | None]:
        """The piece at a cursor, up to the end of a line, and the next cursor. Raises KeyError for one that is not known."""
        key, _, place = cursor.partition(".")
        with self._lock:
            text = self._answers[key]
        if not place.isascii() or not place.isdigit() or len(place) > 9 or int(place) >= len(text):
            raise KeyError(cursor)
        start = int(place)
        end = len(text) if len(text) - start <= PAGE else text.rfind("\n", start, start + PAGE) + 1 or start + PAGE
        return text[start:end], f"{key}.{end}" if end < len(text) else None
