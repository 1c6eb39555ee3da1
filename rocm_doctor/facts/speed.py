"""What a benchmark's figures say together: verdicts of groups of figures, and the parts of link and power that the GPU has."""

from __future__ import annotations

import re

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Gpu, Snapshot

GROUPS = {
    "speed.matmul": regex(r"matmul-(?!.*-training)"),
    "speed.memory": regex(r"memory-"),
    "speed.copies": regex(r".*-pinned$"),
    "speed.attention-passes": regex(r"attention-(?:forward|backward)$"),
}
"""Verdicts of several figures: slow if one is, else cannot-tell if one is."""
_WORST = ("slow", "cannot-tell", "as-expected")


def add_speed(snapshot: Snapshot) -> Snapshot:
    """The snapshot with `speed.link-share`, `speed.cap-share` and the groups' verdicts; unchanged without a benchmark."""
    if not any(name.startswith("rate.") for name in snapshot.facts):
        return snapshot
    facts = {**_shares(snapshot), **snapshot.facts}
    return msgspec.structs.replace(snapshot, facts={**_groups(facts), **facts})


def _is_number(fact: Fact) -> bool:
    return isinstance(fact.value, (int, float)) and not isinstance(fact.value, bool)


def _shares(snapshot: Snapshot) -> dict[str, Fact]:
    """speed.link-share and speed.cap-share from what tools read of the first GPU that has them."""
    found: dict[str, Fact] = {}
    for gpu in snapshot.gpus:
        link = _link_share(gpu)
        cap, usual = gpu.get("power_cap_watts"), gpu.get("power_default_watts")
        if link is not None and "speed.link-share" not in found:
            found["speed.link-share"] = Fact(link, gpu.get("link_width").readings[:1] + gpu.get("link_max_width").readings[:1])
        if _is_number(cap) and _is_number(usual) and usual.value and "speed.cap-share" not in found:
            found["speed.cap-share"] = Fact(round(cap.value / usual.value, 4), cap.readings[:1] + usual.readings[:1])  # type: ignore[operator]
    return found


def _link_share(gpu: Gpu) -> float | None:
    from rocm_doctor.figures.peaks import pcie_gb_s

    lanes, most = gpu.get("link_width").value, gpu.get("link_max_width").value
    if not isinstance(lanes, int) or not isinstance(most, int) or not lanes or not most:
        return None
    rates = [re.match(r"([\d.]+)", str(gpu.get(key).value)) for key in ("link_speed", "link_max_speed")]
    if not rates[0] or not rates[1]:
        return round(lanes / most, 4)
    return round(pcie_gb_s(float(rates[0][1]), lanes) / pcie_gb_s(float(rates[1][1]), most), 4)


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
