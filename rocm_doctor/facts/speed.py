"""What a benchmark's figures say together: verdicts of groups of figures."""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Snapshot

GROUPS = {
    "speed.matmul": regex(r"matmul-(?!.*-training)"),
    "speed.memory": regex(r"memory-"),
    "speed.copies": regex(r".*-pinned$"),
    "speed.attention-passes": regex(r"attention-(?:forward|backward)$"),
}
"""Verdicts of several figures: slow if one is, else cannot-tell if one is."""
_WORST = ("slow", "cannot-tell", "as-expected")


def add_speed(snapshot: Snapshot) -> Snapshot:
    """The snapshot with the groups' verdicts; unchanged without a benchmark."""
    if not any(name.startswith("rate.") for name in snapshot.facts):
        return snapshot
    return msgspec.structs.replace(snapshot, facts={**_groups(snapshot.facts), **snapshot.facts})


def _groups(facts: dict[str, Fact]) -> dict[str, Fact]:
    """The verdicts of groups of figures."""
    found = {}
    for group, pattern in GROUPS.items():
        members = [fact for name, fact in facts.items() if name.startswith("speed.") and pattern.match(name.partition(".")[2])]
        worst = min((m for m in members if m.value in _WORST), key=lambda m: _WORST.index(str(m.value)), default=None)
        if worst:
            found[group] = worst
    return found


def summary(snapshot: Snapshot, note: str = "") -> str:
    """What a benchmark measured, as `16 figures measured on NVIDIA H200, none is slow`; empty without one. `note`: a field report's cause."""
    names = [name.partition(".")[2] for name in snapshot.facts if name.startswith("rate.")]
    slow = [name for name in names if snapshot.get(f"speed.{name}").value == "slow"]
    where = snapshot.get("speed.gpu").value
    place = f" on {where}" if isinstance(where, str) else ""
    cause = f"possibly: {note}" if note else "no cause known"
    verdict = f"{', '.join(slow)} slow, {cause}" if slow else "none is slow"
    return f"{len(names)} figure{'s' if len(names) > 1 else ''} measured{place}, {verdict}" if names else ""
