"""GPUs and nodes that are slower than the others: robust z-scores of bench figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from rocm_doctor.fleet.deviations import Place
from rocm_doctor.fleet.table import Figures, Table
from rocm_doctor.fleet.types import Slow

Z = 5.0
"""Robust standard deviations on the slow side from which on a GPU or a node is a straggler."""
WORSE = 0.05
"""Part of the median by which it must be worse, too: a figure that hardly varies makes every z-score large."""
FEW = 5
"""Values below which there is no usual one."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def stragglers(table: Table, z: float = Z, worse: float = WORSE) -> list[Slow]:
    """All stragglers, the worst first. A node that is slow as a whole is named once, and not again for its GPUs."""
    found: list[Slow] = []
    for held in table.figures.values():
        by_node: dict[int, list[float]] = {}
        for (node, _), value in zip(held.places, held.values):
            by_node.setdefault(node, []).append(value)
        whole = {(node, -1): median(values) for node, values in by_node.items()}
        nodes = list(_slow(table, held, whole.items(), z, worse))
        slow = {one.node for one in nodes}
        single = [(place, value) for place, value in zip(held.places, held.values) if place[1] >= 0]
        found += nodes
        found += (one for one in _slow(table, held, single, z, worse) if one.node not in slow)
    return sorted(found, key=lambda one: (-abs(one.z), one.node))


def _slow(table: Table, figures: Figures, placed: Iterable[tuple[Place, float]], z: float, worse: float) -> Iterator[Slow]:
    held = list(placed)
    if len(held) < FEW:
        return
    values = [value for _, value in held]
    middle = median(values)
    spread = _NORMAL * median([abs(value - middle) for value in values]) or abs(middle) * WORSE / Z
    sign = 1 if figures.better == "lower" else -1
    for (node, gpu), value in held:
        score = sign * (value - middle) / spread if spread else 0.0
        if score >= z and sign * (value - middle) > worse * abs(middle):
            yield Slow(
                table.nodes[node].host, None if gpu < 0 else gpu, figures.name, figures.unit, value, middle, round(score, 1)
            )
