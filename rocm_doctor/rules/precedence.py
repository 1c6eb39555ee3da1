"""Which rows overrule which: a row overrules those that it names under `supersedes`, where it holds. Nothing else is muted.

A row that says that something works says so of what its source tried; another row may know an exception.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Row, last_read


def overruling_rows(matrix: Matrix) -> dict[str, tuple[Row, ...]]:
    """The rows that overrule a row where they hold, by its key."""
    table: dict[str, tuple[Row, ...]] = {}
    for row in matrix.rows:
        for key in row.supersedes:
            table[key] = (*table.get(key, ()), row)
    return table


def demote(made: Finding, newer: Row) -> Finding:
    """The finding of an older row as a note that names the newer row."""
    words = f"Overruled by {newer.key}: {newer.title} ({newer.grade}, {last_read(newer)})."
    return msgspec.structs.replace(
        made, severity="note", confidence="low", cause=f"{words} {made.cause}", advice=newer.advice, commands=newer.commands,
        sources=(*newer.sources, *made.sources),
    )  # fmt: skip
