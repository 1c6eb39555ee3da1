"""Checks of cures: what they are for exists, their slots exist, and each diagnosis has at most one without conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import slot_pattern
from rocm_doctor.matrix.advice import Cure, Slot
from rocm_doctor.matrix.source import Entry

_SLOT = regex(r"(?<!\$)\{(\w+)\}")


def faults(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each reference of a cure to a row, diagnosis or slot that does not exist, for each slot without
    a kind of value, and for each cure that is never shown, as an earlier one has its conditions."""
    curable = {entry.key for entry in entries if entry.section in ("rows", "diagnoses")}
    slots = {entry.key for entry in entries if entry.section == "slots"}
    first: dict[tuple[str, str], str] = {}
    for entry in entries:
        if isinstance(entry.value, Slot) and not slot_pattern(entry.key):
            yield entry, "name", f"`{entry.key}` begins with no kind of value that a command takes"
        if not isinstance(cure := entry.value, Cure):
            continue
        yield from ((entry, "of", f"`{name}` is neither a diagnosis nor a row") for name in cure.of if name not in curable)
        texts = (cure.do, *(command.text for command in (*cure.commands, *cure.verify)))
        used = (slot for text in texts for slot in _SLOT.findall(text))
        yield from ((entry, "do", f"`{slot}` is not in catalog/reports.yaml") for slot in used if slot not in slots)
        for name in cure.of:
            other = first.setdefault((name, str(sorted(cure.when.items()))), cure.key)
            if other != cure.key:
                yield entry, "when", f"`{other}` has the same conditions for {name}, so this one is never shown"
