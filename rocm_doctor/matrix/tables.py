"""Statements, the content of the tables of `matrix`: each with its layer, versions and sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rocm_doctor.matrix.types import Fact, Support
from rocm_doctor.model import Row
from rocm_doctor.versions import SortKey, sort_key

LAYERS = ("machine", "driver", "runtime", "compiler", "library", "framework", "package")
STATEMENT = ("layer", "statement", "state", "for", "grade", "sources", "checked")
GOOD = {"supported", "works-unofficially", "release-ready", "preview", "runtime-only"}
BAD = {"dropped", "broken", "harmful", "unstable", "not-listed", "never-listed", "disputed"}


class Line(NamedTuple):
    """One statement: its layer, what holds, for which versions, its sources and their date."""

    layer: str
    what: str
    state: str
    where: str
    grade: str
    source: str
    checked: str


class Table(NamedTuple):
    """A titled table of texts."""

    title: str
    columns: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]


def statements(title: str, lines: Iterable[Line]) -> Table:
    """Statements by layer; those that say the same of several releases are one line, and contradicted ones are marked."""
    merged: dict[tuple[str, ...], list[Line]] = {}
    for line in sorted(lines, key=lambda x: LAYERS.index(x.layer)):
        merged.setdefault((line.layer, line.what, line.state, line.grade), []).append(line)
    return Table(title, STATEMENT, [_merge_lines(group) for group in merged.values()])


def _merge_lines(group: Sequence[Line]) -> tuple[str, ...]:
    first = group[0]
    where = ", ".join(dict.fromkeys(x.where for x in group if x.where))
    more = len({x.source for x in group}) - 1
    return (
        first.layer,
        first.what,
        first.state,
        where,
        first.grade,
        first.source + (f" (+{more})" if more else ""),
        first.checked,
    )


def contradict(one: Support, other: Support) -> bool:
    """Two statements that speak of one system and a release in common, and one is good news and the other bad."""
    states = {one.state, other.state}
    return one.os == other.os and bool(states & GOOD) and bool(states & BAD) and _meet(one, other)


def _meet(one: Support, other: Support) -> bool:
    """Whether the two ranges have a release in common (`6.4.x` is its series, an open end is open)."""
    return first_version(one) <= last_version(other) and first_version(other) <= last_version(one)


def first_version(one: Support) -> SortKey:
    """Sort key of the first version that a statement covers."""
    return sort_key(one.since.replace(".x", ".0"))


def last_version(one: Support) -> SortKey:
    """Sort key of the last version that a statement covers."""
    return sort_key(one.until.replace(".x", ".99") or "999")


def support_line(s: Support) -> Line:
    """A support statement as a line."""
    to = f" to {s.until}" if s.until and s.until != s.since else "" if s.until else " and later"
    return Line(s.layer, s.words, s.state, f"ROCm {s.since}{to} {s.os}", s.grade, s.sources[0], str(s.checked))


def fact_line(f: Fact) -> Line:
    """A catalog fact as a line."""
    where = ", ".join(x for x in (f.version, f"ROCm {f.rocm}" if f.rocm and f.rocm != "any" else "", f.scope) if x)
    return Line(f.layer, f"{f.subject}: {f.words}", "", where, f.grade, f.sources[0], str(f.checked))


def row_line(r: Row) -> Line:
    """A row as a line."""
    return Line(r.layer, f"{r.title} [{r.key}]", r.status, conditions(r.when), r.grade, r.sources[0], str(r.checked))


def conditions(when: Mapping[str, str]) -> str:
    """The conditions of a row in words."""
    return "; ".join(f"{name} {condition}" for name, condition in when.items())
