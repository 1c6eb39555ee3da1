"""Which rows overrule which: newer and better evidence beats older and weaker.

A row overrules those that it names under `supersedes`. A row with status `works` also overrules one of the same diagnosis with
another status if it has at least the same conditions, the better grade, and was checked on the same day or later. A row with
fewer conditions never does: the narrower one may know an exception.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import GRADES, Finding, Row, as_of


def overruling(matrix: Matrix) -> dict[str, tuple[Row, ...]]:
    """The rows that overrule a row where they hold, by its key."""
    table: dict[str, tuple[Row, ...]] = {}
    for row in matrix.rows:
        for key in row.supersedes:
            table[key] = (*table.get(key, ()), row)
    alike: dict[str, list[Row]] = {}
    for row in matrix.rows:
        alike.setdefault(row.diagnosis, []).append(row)
    for good in (row for row in matrix.rows if row.status == "works" and not row.harmless):
        for row in alike[good.diagnosis]:
            if outranks(good, row):
                table[row.key] = (*table.get(row.key, ()), good)
    return table


def outranks(good: Row, other: Row) -> bool:
    """True if a `works` row overrules another one without naming it."""
    better = GRADES.index(good.grade) < GRADES.index(other.grade) and as_of(good) >= as_of(other)
    return better and other.status != "works" and good.when.keys() >= other.when.keys()


def overruled(made: Finding, newer: Row) -> Finding:
    """The finding of an older row as a note that names the newer row."""
    words = f"Overruled by {newer.key}: {newer.title} ({newer.grade}, {as_of(newer)})."
    return msgspec.structs.replace(
        made, severity="note", confidence="low", cause=f"{words} {made.cause}", advice=newer.advice, commands=newer.commands,
        sources=(*newer.sources, *made.sources),
    )  # fmt: skip
