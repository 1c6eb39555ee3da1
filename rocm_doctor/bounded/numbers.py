"""Whole numbers out of a stranger's text."""

from __future__ import annotations

LONGEST = 18
"""Digits: what fits into 64 bits. Python's int() refuses more than 4300."""


def whole(text: str) -> int | None:
    """The number that the text is; None for anything but a few ASCII digits (`²` is a digit for str.isdigit, and none for int)."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST else None
