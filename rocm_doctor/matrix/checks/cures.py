"""Checks of cures: what they are for exists, their slots exist, and each diagnosis has at most one without conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import slot_pattern
from rocm_doctor.matrix.types import Cure, Slot

_SLOT = regex(r"(?<!\$)\{(\w+)\}")


def faults(entries: Sequence[Any], known: Collection[str], slots: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """(number of the entry, field, complaint). `known`: ids of diagnoses and keys of rows."""
    keys: set[str] = set()
    seen: dict[tuple[str, str], str] = {}
    for number, one in enumerate(entries):
        if isinstance(one, Slot) and not slot_pattern(one.name):
            yield number, "name", f"`{one.name}` begins with no kind of value that a command takes"
        if not isinstance(one, Cure):
            continue
        if one.key in keys:
            yield number, "key", f"`{one.key}` appears twice"
        keys.add(one.key)
        yield from ((number, "of", f"`{name}` is neither a diagnosis nor a row") for name in one.of if name not in known)
        for text in (one.do, *(command.text for command in (*one.commands, *one.verify))):
            yield from (
                (number, "do", f"`{slot}` is not in catalog/reports.yaml") for slot in _SLOT.findall(text) if slot not in slots
            )
        for name in one.of:
            other = seen.setdefault((name, str(sorted(one.when.items()))), one.key)
            if other != one.key:
                yield number, "when", f"`{other}` has the same conditions for {name}, so this one is never shown"
