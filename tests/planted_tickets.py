"""Whole tickets as people write them, with secrets and identifiers planted in them, and technical words that must survive.

A ticket of `tickets/*.txt` marks a planted value as `⟦kind|value⟧` and a word to keep as `⟦keep|word⟧`. Random parts are `{h40}`: a
letter for the alphabet, then a length. All files were written before the redactor's rules were read; which ticket went to the third
or the fourth was decided by a hash. The rules were mended for what leaked from the third and the fifth: docs/privacy.md has the figures.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import NamedTuple

_TICKETS = Path(__file__).parent / "tickets"
_LOW, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_ALPHABETS = {
    "a": _LOW + _LOW.upper() + _DIGITS,
    "A": _LOW + _LOW.upper() + _DIGITS,
    "b": _LOW + _LOW.upper() + _DIGITS + "+/",
    "B": _LOW + _LOW.upper() + _DIGITS,
    "d": _DIGITS,
    "h": _DIGITS + "abcdef",
    "H": _DIGITS + "ABCDEF",
    "U": _LOW.upper() + "234567",
}
_SLOT = re.compile(r"\{([aAbBdhHU])(\d+)\}")
_MARK = re.compile(r"⟦(\w+)\|([^⟧]*)⟧")


class Ticket(NamedTuple):
    """The text of one ticket, what of it identifies somebody, by kind, and what of it must not be lost."""

    name: str
    text: str
    planted: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]


def tickets(name: str, seed: int) -> list[Ticket]:
    """The tickets of one file with their slots filled from `seed`."""
    rng = random.Random(seed)
    parts = re.split(r"^=== (\S+)\n", (_TICKETS / f"{name}.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_ticket(title, text, rng) for title, text in zip(parts[::2], parts[1::2], strict=True)]


def _ticket(title: str, marked: str, rng: random.Random) -> Ticket:
    filled = _SLOT.sub(lambda slot: _drawn(_ALPHABETS[slot[1]], int(slot[2]), rng), marked)
    marks = list(dict.fromkeys(_MARK.findall(filled)))
    return Ticket(
        title,
        _MARK.sub(r"\2", filled),
        tuple((kind, value) for kind, value in marks if kind != "keep"),
        tuple(value for kind, value in marks if kind == "keep"),
    )


def _drawn(alphabet: str, length: int, rng: random.Random) -> str:
    """Random characters, of which one is a digit, as in nearly every real secret."""
    drawn = [rng.choice(alphabet[1:] if alphabet == _DIGITS else alphabet) for _ in range(length)]
    if "2" in alphabet and length > 6:
        drawn[length // 2] = rng.choice("234567")
    return "".join(drawn)
