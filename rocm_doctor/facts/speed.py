"""Verdicts on the figures of a benchmark, where the tool that measured gives none: the same references for every tool."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot

# The figures' own modules are imported where a benchmark is judged: most snapshots have none.
if TYPE_CHECKING:
    from rocm_doctor.figures.types import Device, Figure

GROUPS = {
    "speed.matmul": regex(r"matmul-(?!.*-training)"),
    "speed.memory": regex(r"memory-"),
    "speed.copies": regex(r".*-pinned$"),
    "speed.attention-passes": regex(r"attention-(?:forward|backward)$"),
}
"""Verdicts of several figures: slow if one is, else cannot-tell if one is."""
_WORST = ("slow", "cannot-tell", "as-expected")


def add_speed(snapshot: Snapshot, matrix: Matrix) -> Snapshot:
    """The snapshot with `speed.*` for its `rate.*`; unchanged without a benchmark."""
    rates = {name.partition(".")[2]: fact for name, fact in snapshot.facts.items() if name.startswith("rate.")}
    if not rates:
        return snapshot
    facts = {**_shares(snapshot), **_verdicts(snapshot, rates, matrix), **snapshot.facts}
    return msgspec.structs.replace(snapshot, facts={**_groups(facts), **facts})


def _verdicts(snapshot: Snapshot, rates: dict[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    from rocm_doctor.figures import judge
    from rocm_doctor.figures.types import BenchReport, Figure

    device = _device(snapshot)
    figures = tuple(Figure(0, name, float(fact.value), _unit(name), 0.0) for name, fact in rates.items() if _number(fact))  # type: ignore[arg-type]
    found = judge.judge_figures(BenchReport("", "", (device,), figures), matrix).figures
    return {f"speed.{one.name}": _fact(one, rates[one.name]) for one in found}


def _fact(one: Figure, rate: Fact) -> Fact:
    first = rate.readings[0] if rate.readings else Reading("", "", "")
    words = f"{one.name} {one.value:g} {one.unit}: {one.verdict}, {one.why}"
    return Fact(one.verdict.replace(" ", "-"), (msgspec.structs.replace(first, quote=words),))


def _unit(name: str) -> str:
    return "TFLOP/s" if name.startswith(("matmul", "attention")) else "GB/s"


def _number(fact: Fact) -> bool:
    return isinstance(fact.value, (int, float)) and not isinstance(fact.value, bool)


def _device(snapshot: Snapshot) -> Device:
    """The GPU as the benchmark names it, else as the machine's tools do; with its PCIe link."""
    from rocm_doctor.figures.types import Device

    named = snapshot.get("speed.gpu").value or next((_name(g) for g in snapshot.gpus if _name(g)), "")
    gpu = snapshot.gpus[0] if snapshot.gpus else Gpu({})
    width, most = (value if isinstance(value := gpu.get(key).value, int) else 0 for key in ("link_width", "link_max_width"))
    speed, fastest = (str(gpu.get(key).value or "") for key in ("link_speed", "link_max_speed"))
    return Device(0, "hip", str(named), link_speed=speed, link_width=width, link_max_speed=fastest, link_max_width=most)


def _name(gpu: Gpu) -> str:
    for key in ("product", "marketing_name"):
        if isinstance(gpu.get(key).value, str):
            return str(gpu.get(key).value)
    return ""


def _shares(snapshot: Snapshot) -> dict[str, Fact]:
    """speed.link-share and speed.cap-share from what tools read of the first GPU that has them."""
    found: dict[str, Fact] = {}
    for gpu in snapshot.gpus:
        link = _link_share(gpu)
        cap, usual = gpu.get("power_cap_watts"), gpu.get("power_default_watts")
        if link is not None and "speed.link-share" not in found:
            found["speed.link-share"] = Fact(link, gpu.get("link_width").readings[:1] + gpu.get("link_max_width").readings[:1])
        if _number(cap) and _number(usual) and usual.value and "speed.cap-share" not in found:
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
