"""Proof of a row with a log condition: its own `example`."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Artifact
from rocm_doctor.rules.engine import asks_for_lines, failure_lines, matching_lines
from rocm_doctor.rules.logs import Logs


def unproven(row: Row, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """(field, message) for a row with a log condition that has no `example`, does not hold for it, or holds for its `not`."""

    def matches(text: str) -> bool:
        logs = Logs([Artifact("paste/text", "paste", text)], failure_lines(Matrix(rows=(row,), raw=matrix.raw)))
        return matching_lines(row, logs) is not None

    if not asks_for_lines(row):
        return
    if not row.example:
        yield "example", "a row with a log condition needs an example line, as the software prints it"
    elif not matches(row.example):
        yield "example", "the row does not hold for its own example"
    if row.not_ and matches(row.not_):
        yield "not", "the row holds for the text that `not` forbids"
