"""Which nodes differ from the others: in a fact, and in a measured figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import median, median_high
from typing import Any

import msgspec

from rocm_doctor.fleet.table import NOT_PROBED, NodeTable, Place
from rocm_doctor.fleet.types import Straggler
from rocm_doctor.model import Fact

CLOSE = 0.01
"""Sizes in bytes that differ by less are the same: the kernel keeps a varying part for itself."""
FEW = 5
"""Nodes or figures below which there is no usual one, and no fact is taken for a name or an address."""
Z = 5.0
"""Robust standard deviations on the slow side from which on a GPU or a node is a straggler."""
WORSE = 0.05
"""Part of the median by which it must be worse, too: a figure that hardly varies makes every z-score large."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


class Deviation(msgspec.Struct, frozen=True):
    """A `value` of a fact that differs from the `majority`, and the places that have it: (number of a node, index of a GPU or
    -1)."""

    fact: str
    value: str
    majority: str
    places: tuple[Place, ...]

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset(node for node, _ in self.places)


def compare_with_majority(table: NodeTable) -> tuple[list[Deviation], list[str]]:
    """(deviations, facts): every deviation from the majority of the nodes, the rarest first; and the facts that have a value of
    their own on almost every node, which are not compared."""
    deviations: list[Deviation] = []
    individual: list[str] = []
    for fact in table.differing_facts():
        for parts in table.groups(fact):
            counts = table.count(fact, parts)
            if _is_individual(fact, counts):
                individual.append(fact)
            else:
                usual = _majority(fact, counts)
                others = (value for value in counts if not _is_same(fact, value, usual))
                deviations += _deviations(fact, ((value, usual, table.places(fact, parts, value)) for value in others))
    return _rank(deviations), [*dict.fromkeys(individual)]


def _rank(deviations: list[Deviation]) -> list[Deviation]:
    return sorted(deviations, key=lambda one: (len(one.nodes), one.fact, one.value))


def _majority(fact: str, counts: Counter[Any]) -> Any:
    """The value of most; of two that are as frequent, a known one before an unknown, then by its words. Of sizes the median, for few are equal."""
    most = max(counts, key=lambda value: (counts[value], value not in (None, NOT_PROBED), show(value)))
    sizes = [one for one in counts.elements() if type(one) is int] if fact.endswith("_bytes") else []
    return median_high(sizes) if sizes and len(sizes) >= counts[most] else most


def _is_individual(fact: str, counts: Counter[Any]) -> bool:
    """True if the fact differs from node to node, as a name or an address does. A size does not."""
    return counts.total() >= FEW and len(counts) > counts.total() / 2 and not fact.endswith("_bytes")


def _deviations(fact: str, values: Iterable[tuple[Any, Any, Iterable[Place]]]) -> Iterator[Deviation]:
    """A deviation for each pair of words; `values`: value, wanted value, places."""
    groups: dict[tuple[str, str], list[Place]] = {}
    for value, wanted, places in values:
        groups.setdefault((show(value), show(wanted)), []).extend(places)
    return (Deviation(fact, *words, tuple(sorted(places))) for words, places in groups.items() if places)


def _is_same(fact: str, one: Any, other: Any) -> bool:
    """True if two values are the same to people: sizes that hardly differ are."""
    if fact.endswith("_bytes") and type(one) is int and type(other) is int:
        return abs(one - other) <= CLOSE * max(abs(one), abs(other))
    return (type(one) is type(other) and one == other) or show(one) == show(other)


def show(value: Any) -> str:
    """The value for people."""
    return "not probed" if value == NOT_PROBED else Fact(value).words


def find_stragglers(table: NodeTable) -> list[Straggler]:
    """GPUs and nodes that are slower than the others, the worst first. A node that is slow as a whole is named once, not for its GPUs."""
    groups: dict[tuple[str, str, str, str], dict[int, dict[int, float]]] = {}
    for number, node in enumerate(table.nodes):
        for gfx, one in node.figures:
            groups.setdefault((one.name, one.unit, one.better, gfx), {}).setdefault(number, {})[one.gpu] = one.value
    stragglers: list[Straggler] = []
    for figure, nodes_of_figure in groups.items():
        nodes = _stragglers(table, figure, {(node, -1): median(values.values()) for node, values in nodes_of_figure.items()})
        slow = {one.node for one in nodes}
        singles = {(node, gpu): value for node, values in nodes_of_figure.items() for gpu, value in values.items() if gpu >= 0}
        stragglers += [*nodes, *(straggler for straggler in _stragglers(table, figure, singles) if straggler.node not in slow)]
    return sorted(stragglers, key=lambda one: (-abs(one.z), one.node))


def _stragglers(table: NodeTable, figure: tuple[str, str, str, str], values: Mapping[Place, float]) -> list[Straggler]:
    """Those of the places whose value is far on the slow side of the median."""
    if len(values) < FEW:
        return []
    name, unit, better, _ = figure
    middle = median(values.values())
    spread = _NORMAL * median(abs(value - middle) for value in values.values()) or abs(middle) * WORSE / Z
    sign = 1 if better == "lower" else -1
    found = []
    for (node, gpu), value in values.items():
        worse = sign * (value - middle)
        if spread and worse >= Z * spread and worse > WORSE * abs(middle):
            place = table.nodes[node].host, None if gpu < 0 else gpu
            found.append(Straggler(*place, name, unit, value, middle, round(worse / spread, 1)))
    return found
