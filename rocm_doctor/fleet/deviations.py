"""Which nodes differ from the majority, from a golden report or from an earlier snapshot, and which values go with the sick ones."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rocm_doctor.fleet.table import FAMILIES, NOT_PROBED, Table
from rocm_doctor.fleet.types import Association, Changed
from rocm_doctor.model import Fact
from rocm_doctor.reports.machine import show_value

BY_SLOT = frozenset({"gpu.pci_bdf", "gpu.node", "gpu.render_node", "gpu.numa_node", "gpu.links"})
"""Facts that differ between the GPUs of a sound node: the node's list is compared as a whole."""
CLOSE = 0.01
"""Sizes in bytes that differ by less are the same: the kernel keeps a varying part for itself."""
LEVEL = 0.01
"""Corrected p from which on an association is reported."""
FEW = 5
"""Nodes from which on a fact that is different almost everywhere is taken for a name or an address."""

Place = tuple[int, int]
"""A node's number, and the index of a GPU or -1."""


class Deviation(msgspec.Struct, frozen=True):
    """One value that differs from the majority's, and where."""

    fact: str
    value: str
    majority: str
    where: tuple[Place, ...]

    @property
    def nodes(self) -> frozenset[int]:
        """Numbers of the nodes."""
        return frozenset(node for node, _ in self.where)


class Compared(msgspec.Struct, frozen=True):
    """All deviations, the rarest first, and the facts that have a value of their own on almost every node."""

    deviations: list[Deviation]
    own: list[str]


class Holders:
    """Where one value is: numbers of nodes, for a GPU index or -1."""

    def __init__(self) -> None:
        self.runs: list[tuple[Iterable[int], int]] = []
        self.count = 0

    def add(self, numbers: array[int] | list[int], index: int) -> None:
        """The value is on these nodes."""
        self.runs.append((numbers, index))
        self.count += len(numbers)

    def places(self) -> Iterator[Place]:
        """Each node and GPU."""
        return ((number, index) for numbers, index in self.runs for number in numbers)


Held = dict[Any, Holders]


def compare(table: Table, golden: Table | None = None) -> Compared:
    """Every deviation from the majority of the nodes, or from the one node of `golden`."""
    nodes = table.compared()
    found: list[Deviation] = []
    own: list[str] = []
    for fact in sorted(table.columns if golden is None else {*table.columns, *golden.columns}):
        held = count_values(table, fact, nodes)
        if golden is not None:
            known = count_values(golden, fact, golden.compared())
            wanted = next(iter(known), None if fact.startswith(FAMILIES) else NOT_PROBED)
            if wanted == NOT_PROBED:
                continue
        elif _own(held):
            own.append(fact)
            continue
        else:
            wanted = majority(held)
        found += _unlike(fact, held, wanted)
    return Compared(sorted(found, key=lambda one: (len(one.nodes), one.fact, one.value)), own)


def count_values(table: Table, fact: str, nodes: list[int]) -> Held:
    """Each value of the fact with where it is, absent and not probed included."""
    column = table.columns.get(fact, {})
    if fact in BY_SLOT:
        column = _of_usual_length(column)
    held: Held = {}
    for value, numbers in column.items():
        single = fact.startswith("gpu.") and fact not in BY_SLOT
        for index, one in enumerate(value) if single else [(-1, value)]:
            held.setdefault(one, Holders()).add(numbers, index)
    if not fact.startswith("gpu.") and sum(map(len, column.values())) < len(nodes):
        has = {number for numbers in column.values() for number in numbers}
        missing = None if fact.startswith((*FAMILIES, "cmdline.")) else NOT_PROBED
        held.setdefault(missing, Holders()).add([number for number in nodes if number not in has], -1)
    return _close(held) if fact.endswith("_bytes") else held


def _of_usual_length(column: dict[Any, array[int]]) -> dict[Any, array[int]]:
    """The lists of nodes with the usual number of GPUs; for the others that number is the deviation."""
    counts: dict[int, int] = {}
    for value, numbers in column.items():
        counts[len(value)] = counts.get(len(value), 0) + len(numbers)
    usual = max(counts, key=lambda length: counts[length], default=0)
    return {value: numbers for value, numbers in column.items() if len(value) == usual}


def _close(held: Held) -> Held:
    """Sizes that hardly differ, under the most frequent of them."""
    sizes = sorted(value for value in held if type(value) is int)
    made = {value: holders for value, holders in held.items() if type(value) is not int}
    for cluster in _clusters(sizes):
        usual = made[max(cluster, key=lambda size: held[size].count)] = Holders()
        for size in cluster:
            usual.runs += held[size].runs
            usual.count += held[size].count
    return made


def _clusters(sizes: list[int]) -> list[list[int]]:
    clusters: list[list[int]] = []
    for one in sizes:
        if clusters and one - clusters[-1][0] <= CLOSE * one:
            clusters[-1].append(one)
        else:
            clusters.append([one])
    return clusters


def majority(held: Held) -> Any:
    """The value of most; of two that are as frequent, a known one before an unknown, then by its words."""
    return max(held, key=lambda value: (held[value].count, value not in (None, NOT_PROBED), words(value)))


def _own(held: Held) -> bool:
    """True if the fact differs from node to node, as a name or an address does; also if no node has it."""
    count = sum(holders.count for holders in held.values())
    return not held or (count >= FEW and len(held) > count / 2)


def _unlike(fact: str, held: Mapping[Any, Holders], wanted: Any) -> Iterator[Deviation]:
    """A deviation for the words of each other value."""
    groups: dict[str, list[Place]] = {}
    for value, holders in held.items():
        if not same(fact, value, wanted):
            groups.setdefault(words(value), []).extend(holders.places())
    return (Deviation(fact, said, words(wanted), tuple(sorted(places))) for said, places in groups.items() if places)


def same(fact: str, one: Any, other: Any) -> bool:
    """True if two values are the same to people: sizes that hardly differ are."""
    if fact.endswith("_bytes") and type(one) is int and type(other) is int:
        return abs(one - other) <= CLOSE * max(abs(one), abs(other))
    return words(one) == words(other)


def words(value: Any) -> str:
    """The value for people."""
    if isinstance(value, tuple):
        return "; ".join(words(one) for one in value)
    if value == NOT_PROBED:
        return "not probed"
    return ("yes" if value else "no") if isinstance(value, bool) else show_value(Fact(value))


def changes(before: Table, now: Table) -> list[Changed]:
    """Every change on nodes that both have, those of fewest nodes first."""
    numbers = {node.host: number for number, node in enumerate(now.nodes)}
    common = {number: numbers[node.host] for number, node in enumerate(before.nodes) if node.host in numbers}
    found = [one for fact in sorted({*before.columns, *now.columns}) for one in _changed(fact, before, now, common)]
    return sorted(found, key=lambda one: (one.count, one.fact))


def _changed(fact: str, before: Table, now: Table, numbers: dict[int, int]) -> Iterator[Changed]:
    old = {numbers[node]: values for node, values in _values(before, fact).items() if node in numbers}
    groups: dict[tuple[str, str], set[int]] = {}
    for node, values in _values(now, fact).items():
        was = old.get(node, values)
        if was is not values and (len(was) != len(values) or not all(same(fact, *pair) for pair in zip(was, values))):
            groups.setdefault((_said(was), _said(values)), set()).add(node)
    return (Changed(fact, was_, said, len(nodes), now.names(nodes)) for (was_, said), nodes in groups.items())


def _values(table: Table, fact: str) -> dict[int, tuple[Any, ...]]:
    """The value of each node, or those of its GPUs in order."""
    held: dict[int, dict[int, Any]] = {}
    for value, holders in count_values(table, fact, table.compared()).items():
        for node, gpu in holders.places():
            held.setdefault(node, {})[gpu] = value
    return {node: tuple(gpus[gpu] for gpu in sorted(gpus)) for node, gpus in held.items()}


def _said(values: tuple[Any, ...]) -> str:
    return ", ".join(dict.fromkeys(map(words, values)))


def associated(deviations: Sequence[Deviation], sick: frozenset[int], nodes: int) -> list[Association]:
    """The values that go with sick nodes, the most certain first. Each deviation is one try."""
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
        with_ = one.nodes
        found.append(Association(one.fact, one.value, len(with_ & sick), len(with_), len(sick), nodes, corrected))
    return found


def fisher(both: int, first: int, second: int, total: int) -> float:
    """Probability of at least `both` in common between sets of `first` and `second` members out of `total`, by chance."""

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    most = min(first, second)
    least = max(0, first + second - total)
    if both <= least:
        return 1.0
    term = math.exp(log_choose(second, both) + log_choose(total - second, first - both) - log_choose(total, first))
    tail = 0.0
    for k in range(both, most + 1):
        tail += term
        if term < tail * 1e-17:
            break
        term *= (second - k) * (first - k) / ((k + 1) * (total - second - first + k + 1))
    return min(1.0, tail)
