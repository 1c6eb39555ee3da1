"""Pseudonyms of secrets: `<user-1>`, `<ip-2>`, the same one wherever the same secret is met."""

from __future__ import annotations

import re

from rocm_doctor.redaction.rules import NAMES

IDS = frozenset({"uuid", "serial"})
"""Kinds that are numbers of a thing: two spellings of one are one."""


class Pseudonyms:
    """The pseudonyms given so far, numbered by kind in the order in which they were asked for."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def get(self, kind: str, secret: str) -> str:
        key = (_family(kind), _canonical(kind, secret))
        if key not in self._given:
            joint = " " if " " in secret.strip() and kind in NAMES else "-"
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._given[key] = f"<{kind}{joint}{self._counts[kind]}>"
        return self._given[key]

    def fix(self, kind: str, secret: str, pseudonym: str) -> None:
        """From now on `pseudonym` replaces this secret."""
        self._given[(_family(kind), _canonical(kind, secret))] = pseudonym


def _family(kind: str) -> str:
    """Kinds that share their pseudonyms: one name is one pseudonym, whether it is a user's, a group's or a machine's."""
    return "id" if kind in IDS else "name" if kind in NAMES else kind


def _canonical(kind: str, secret: str) -> str:
    """One spelling for one secret: an id is the same number in hex (rocminfo, amd-smi) and in decimal (the KFD topology)."""
    if kind not in IDS:
        return secret.casefold()
    bare = secret.casefold().removeprefix("gpu-").removeprefix("0x")
    digits = bare.replace("-", "")
    if re.fullmatch(r"\d{17,20}", digits):
        return str(int(digits))
    return str(int(digits, 16)) if re.fullmatch(r"[0-9a-f]{8,40}", digits) else bare
