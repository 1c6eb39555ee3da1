"""Readers for whatever a stranger sends: each format is opened here and nowhere else, and each costs a bounded time and memory.

What is damaged, no ordinary file, or beyond a limit raises `Unreadable` with words for the user; nothing else gets out.
"""

from __future__ import annotations


class Unreadable(ValueError):
    """Input that was refused. The text says why, without the file's name; `line` counts from 1 (0: not known)."""

    def __init__(self, words: str, line: int = 0) -> None:
        super().__init__(words)
        self.line = line
