"""What changed since an earlier snapshot of the fleet, folded over the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rocm_doctor.fleet.deviations import held_values, same, words
from rocm_doctor.fleet.table import Table


class Change(msgspec.Struct, frozen=True):
    """A fact that had another value before, and the nodes (by the numbers of today)."""

    fact: str
    before: str
    now: str
    nodes: frozenset[int]


def changes(before: Table, now: Table) -> list[Change]:
    """Every change on nodes that both have, those of fewest nodes first."""
    numbers = {node.host: number for number, node in enumerate(now.nodes)}
    common = {number: numbers[node.host] for number, node in enumerate(before.nodes) if node.host in numbers}
    found = [one for fact in sorted({*before.columns, *now.columns}) for one in _changed(fact, before, now, common)]
    return sorted(found, key=lambda one: (len(one.nodes), one.fact))


def _changed(fact: str, before: Table, now: Table, numbers: dict[int, int]) -> Iterator[Change]:
    old = {numbers[node]: values for node, values in _values(before, fact).items() if node in numbers}
    groups: dict[tuple[str, str], set[int]] = {}
    for node, values in _values(now, fact).items():
        was = old.get(node, values)
        if was is not values and (len(was) != len(values) or not all(same(fact, *pair) for pair in zip(was, values))):
            groups.setdefault((_said(was), _said(values)), set()).add(node)
    return (Change(fact, was_, said, frozenset(nodes)) for (was_, said), nodes in groups.items())


def _values(table: Table, fact: str) -> dict[int, tuple[Any, ...]]:
    """The value of each node, or those of its GPUs in order."""
    held: dict[int, dict[int, Any]] = {}
    for value, holders in held_values(table, fact, table.compared()).items():
        for node, gpu in holders.places():
            held.setdefault(node, {})[gpu] = value
    return {node: tuple(gpus[gpu] for gpu in sorted(gpus)) for node, gpus in held.items()}


def _said(values: tuple[Any, ...]) -> str:
    return ", ".join(dict.fromkeys(map(words, values)))
