"""Which nodes differ from the others: in a fact, in a measured figure, and in what goes with the sick ones."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from rocm_doctor.fleet.table import FAMILIES, NOT_PROBED, Figures, Place, Table
from rocm_doctor.fleet.types import Association, Straggler
from rocm_doctor.model import Fact
from rocm_doctor.reports.machine import show_value

BY_SLOT = frozenset({"gpu.pci_bdf", "gpu.node", "gpu.render_node", "gpu.numa_node", "gpu.links"})
"""Facts that differ between the GPUs of a sound node: the node's list is compared as a whole."""
CLOSE = 0.01
"""Sizes in bytes that differ by less are the same: the kernel keeps a varying part for itself."""
LEVEL = 0.01
"""Corrected p from which on an association is reported."""
FEW = 5
"""Nodes or figures below which there is no usual one, and no fact is taken for a name or an address."""
Z = 5.0
"""Robust standard deviations on the slow side from which on a GPU or a node is a straggler."""
WORSE = 0.05
"""Part of the median by which it must be worse, too: a figure that hardly varies makes every z-score large."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


class Deviation(msgspec.Struct, frozen=True):
    """A value of a fact, the usual value, and where the former is."""

    fact: str
    value: str
    majority: str
    places: tuple[Place, ...]

    @property
    def nodes(self) -> frozenset[int]:
        """Numbers of the nodes."""
        return frozenset(node for node, _ in self.places)


class Holders:
    """Where one value is: numbers of nodes, for a GPU index or -1."""

    def __init__(self) -> None:
        self.runs: list[tuple[Iterable[int], int]] = []
        self.count = 0

    def add(self, numbers: array[int] | list[int], index: int) -> None:
        """Note that these nodes have the value."""
        self.runs.append((numbers, index))
        self.count += len(numbers)

    def places(self) -> Iterator[Place]:
        """Each node and GPU."""
        return ((number, index) for numbers, index in self.runs for number in numbers)


Held = dict[Any, Holders]
"""Where each value of one fact is."""


def compare_with_majority(table: Table) -> tuple[list[Deviation], list[str]]:
    """Every deviation from the majority of the nodes, the rarest first, and the facts that have a value of their own on almost every node."""
    found: list[Deviation] = []
    individual: list[str] = []
    for fact in sorted(table.columns):
        held = count_values(table, fact, table.nodes_with_facts())
        if _is_individual(fact, held):
            individual.append(fact)
        else:
            usual = _majority(fact, held)
            found += _deviations(fact, ((value, usual, held[value].places()) for value in held))
    return _rank(found), individual


def compare_with_reports(table: Table, golden: Table) -> list[Deviation]:
    """Every deviation from the one report of `golden`, or, where it has several, of each node from its own, the rarest first."""
    numbers = {node.host: number for number, node in enumerate(golden.nodes)}
    one = next(iter(numbers.values())) if len(numbers) == 1 else None
    found: list[Deviation] = []
    for fact in sorted({*table.columns, *golden.columns}):
        known = {
            place: value
            for value, held in count_values(golden, fact, golden.nodes_with_facts()).items()
            for place in held.places()
        }
        tried = (
            (value, known.get((numbers.get(table.nodes[node].host, -1) if one is None else one, gpu), NOT_PROBED), [(node, gpu)])
            for value, held in count_values(table, fact, table.nodes_with_facts()).items()
            for node, gpu in held.places()
        )
        found += _deviations(fact, (each for each in tried if each[1] != NOT_PROBED))
    return _rank(found)


def _rank(found: list[Deviation]) -> list[Deviation]:
    return sorted(found, key=lambda one: (len(one.nodes), one.fact, one.value))


def count_values(table: Table, fact: str, nodes: list[int]) -> Held:
    """Each value of the fact with where it is, absent and not probed included."""
    column = table.columns.get(fact, {})
    if fact in BY_SLOT:
        column = _lists_of_usual_length(column)
    held: Held = {}
    for value, numbers in column.items():
        single = fact.startswith("gpu.") and fact not in BY_SLOT
        for index, one in enumerate(value) if single else [(-1, value)]:
            held.setdefault(one, Holders()).add(numbers, index)
    if not fact.startswith("gpu.") and sum(map(len, column.values())) < len(nodes):
        has = {number for numbers in column.values() for number in numbers}
        missing = None if fact.startswith((*FAMILIES, "cmdline.")) else NOT_PROBED
        held.setdefault(missing, Holders()).add([number for number in nodes if number not in has], -1)
    return held


def _lists_of_usual_length(column: dict[Any, array[int]]) -> dict[Any, array[int]]:
    """The lists of nodes with the usual number of GPUs; for the others that number is the deviation."""
    counts: dict[int, int] = {}
    for value, numbers in column.items():
        counts[len(value)] = counts.get(len(value), 0) + len(numbers)
    usual = max(counts, key=lambda length: counts[length], default=0)
    return {value: numbers for value, numbers in column.items() if len(value) == usual}


def _majority(fact: str, held: Held) -> Any:
    """The value of most; of two that are as frequent, a known one before an unknown, then by its words. Of sizes the median, for few are equal."""
    most = max(held, key=lambda value: (held[value].count, value not in (None, NOT_PROBED), show(value)))
    sizes = [size for size in sorted(one for one in held if type(one) is int) for _ in range(held[size].count)]
    return sizes[len(sizes) // 2] if fact.endswith("_bytes") and len(sizes) >= held[most].count else most


def _is_individual(fact: str, held: Held) -> bool:
    """True if the fact differs from node to node, as a name or an address does; also if no node has it. A size does not."""
    count = sum(holders.count for holders in held.values())
    return not held or (count >= FEW and len(held) > count / 2 and not fact.endswith("_bytes"))


def _deviations(fact: str, tried: Iterable[tuple[Any, Any, Iterable[Place]]]) -> Iterator[Deviation]:
    """A deviation for the words of each value that is not the wanted one; `tried`: value, wanted value, places."""
    groups: dict[tuple[str, str], list[Place]] = {}
    for value, wanted, places in tried:
        if not _is_same(fact, value, wanted):
            groups.setdefault((show(value), show(wanted)), []).extend(places)
    return (Deviation(fact, *words, tuple(sorted(places))) for words, places in groups.items() if places)


def _is_same(fact: str, one: Any, other: Any) -> bool:
    """True if two values are the same to people: sizes that hardly differ are."""
    if fact.endswith("_bytes") and type(one) is int and type(other) is int:
        return abs(one - other) <= CLOSE * max(abs(one), abs(other))
    return (type(one) is type(other) and one == other) or show(one) == show(other)


def show(value: Any) -> str:
    """The value for people."""
    if isinstance(value, tuple):
        return "; ".join(show(one) for one in value)
    if value == NOT_PROBED:
        return "not probed"
    return ("yes" if value else "no") if isinstance(value, bool) else show_value(Fact(value))


def find_associations(deviations: Sequence[Deviation], sick: frozenset[int], nodes: int) -> list[Association]:
    """The values that go with sick nodes, the most certain first. Each deviation is one try (Holm's correction)."""
    if not sick or len(sick) >= nodes:
        return []
    tried = [(fisher(len(one.nodes & sick), len(one.nodes), len(sick), nodes), one) for one in deviations]
    ranked = sorted(tried, key=lambda item: (item[0], item[1].fact, item[1].value))
    found: list[Association] = []
    corrected = 0.0
    for rank, (p, one) in enumerate(ranked):
        corrected = max(corrected, min(1.0, p * (len(ranked) - rank)))
        if corrected > LEVEL:
            break
        found.append(Association(one.fact, one.value, len(one.nodes & sick), len(one.nodes), len(sick), nodes, corrected))
    return found


def fisher(both: int, first: int, second: int, total: int) -> float:
    """Probability of at least `both` in common between sets of `first` and `second` members out of `total`, by chance."""

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    every = log_choose(total, first)
    least = max(both, first + second - total)
    return min(
        1.0,
        math.fsum(
            math.exp(log_choose(second, k) + log_choose(total - second, first - k) - every)
            for k in range(least, min(first, second) + 1)
        ),
    )


def find_stragglers(table: Table) -> list[Straggler]:
    """GPUs and nodes that are slower than the others, the worst first. A node that is slow as a whole is named once, not for its GPUs."""
    found: list[Straggler] = []
    for figures in table.figures.values():
        by_node: dict[int, list[float]] = {}
        for (node, _), value in zip(figures.places, figures.values):
            by_node.setdefault(node, []).append(value)
        nodes = _stragglers(table, figures, {(node, -1): median(values) for node, values in by_node.items()})
        slow = {one.node for one in nodes}
        gpus = _stragglers(
            table, figures, {place: value for place, value in zip(figures.places, figures.values) if place[1] >= 0}
        )
        found += [*nodes, *(one for one in gpus if one.node not in slow)]
    return sorted(found, key=lambda one: (-abs(one.z), one.node))


def _stragglers(table: Table, figures: Figures, held: Mapping[Place, float]) -> list[Straggler]:
    """Those of the places whose value is far on the slow side of the median."""
    if len(held) < FEW:
        return []
    middle = median(held.values())
    spread = _NORMAL * median(abs(value - middle) for value in held.values()) or abs(middle) * WORSE / Z
    sign = 1 if figures.better == "lower" else -1
    scores = {place: sign * (value - middle) / spread if spread else 0.0 for place, value in held.items()}
    return [
        Straggler(
            table.nodes[node].host, None if gpu < 0 else gpu, figures.name, figures.unit, held[node, gpu], middle, round(z, 1)
        )
        for (node, gpu), z in scores.items()
        if z >= Z and sign * (held[node, gpu] - middle) > WORSE * abs(middle)
    ]
