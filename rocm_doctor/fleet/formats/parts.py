"""The parts of a judgement that are lists, for text and page alike: a title, the columns, and a row for each entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rocm_doctor.fleet.types import Judgement, Slow


class Part(NamedTuple):
    """A list under a title."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def parts(summary: Judgement) -> Iterator[Part]:
    """The parts that have an entry, the worst first."""
    lists: tuple[tuple[str, str, Iterable[tuple[str, ...]]], ...] = (
        ("Stragglers", "Node|Figure|Value|Median|Worse|z", map(_slow, summary.stragglers)),
        ("Values that go with sick nodes", "Fact|Value|Sick with it|Nodes with it|Sick in all|p", [
            (o.fact, o.value, str(o.sick_with), str(o.with_), f"{o.sick} of {o.nodes}", f"{o.p:.1g}") for o in summary.associations]),
        ("Deviations, the rarest first", "Fact|Value|Most have|Nodes|Which", [
            (o.fact + (f" on GPU {o.gpus[0].index}" if len(o.gpus) == 1 else ""), o.value, o.majority, str(o.count), o.nodes)
            for o in summary.deviations]),
        ("Changes since the earlier snapshot", "Fact|Before|Now|Nodes|Which", [
            (o.fact, o.before, o.now, str(o.count), o.nodes) for o in summary.changes]),
        ("Reported twice", "Why|Nodes|Which", [(o.why, str(o.count), o.nodes) for o in summary.twice]),
        ("Not judged", "Document|Why", summary.refused),
    )  # fmt: skip
    made = (Part(title, tuple(columns.split("|")), list(rows)) for title, columns, rows in lists)
    return (part for part in made if part.rows)


def _slow(one: Slow) -> tuple[str, ...]:
    worse = abs(one.value - one.median) / abs(one.median or 1)
    node = one.node if one.gpu is None else f"{one.node} GPU {one.gpu}"
    return node, one.figure, f"{one.value:g} {one.unit}", f"{one.median:g}", f"{worse:.0%}", f"{one.z:g}"
