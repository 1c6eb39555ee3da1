"""A text in lower case without a change of any position, in one pass over it."""

from __future__ import annotations


def lower(text: str) -> str:
    """The text in lower case, of the same length: positions found in it hold in `text`.

    One letter alone becomes two in lower case: the Turkish I with a dot.
    """
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()
