"""Texts and names letter by letter: in lower case, and as a terminal may show them."""

from __future__ import annotations


def lower(text: str) -> str:
    """The text in lower case, of the same length: positions found in it hold in `text`.

    One letter alone becomes two in lower case: the Turkish I with a dot.
    """
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()


def printable(name: str) -> str:
    """A file's name with U+FFFD for what no terminal should see and no encoding can hold."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
