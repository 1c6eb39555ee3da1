"""A stranger's text letter by letter: in lower case, as a terminal may show it, as a whole number."""

from __future__ import annotations


def lower(text: str) -> str:
    """The text in lower case, of the same length: positions found in it hold in `text`.

    One letter alone becomes two in lower case: the Turkish I with a dot.
    """
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()


def printable(text: str) -> str:
    """A name or another short text with U+FFFD for what no terminal should see and no encoding can hold."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


LONGEST = 18
"""Digits: what fits into 64 bits. Python's int() refuses more than 4300."""


def whole(text: str) -> int | None:
    """The number that the text is; None for anything but a few ASCII digits (`²` is a digit for str.isdigit, and none for int)."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST else None
