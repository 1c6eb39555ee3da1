"""Every row can hold, and every condition of it counts: a row that no machine can meet, or that ignores one, fails here."""

from __future__ import annotations

import msgspec
from matrix_machines import MATRIX, make_machine

from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import NO_FAULT, Artifact, Snapshot
from rocm_doctor.rules.engine import asks_for_lines, failure_lines, judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.proofs import unproven

ROWS = [row for row in MATRIX.rows if not row.key.startswith(("sig-", "smoke-"))]
JUDGED = [row for row in ROWS if row.status not in NO_FAULT or row.harmless]


def text_of(row: Row) -> str:
    lines = [c.split("|")[0].replace("*", " x ") for n, c in row.when.items() if n.startswith("log") and not c.startswith("!")]
    return row.example or "\n".join(lines)


def found(row: Row, machine: Snapshot) -> bool:
    findings, _ = judge(machine, Logs([Artifact("paste/text", "paste", text_of(row))], failure_lines(MATRIX)), MATRIX, ())
    return row.key in {f.row for f in findings}


def test_a_machine_can_meet_the_conditions_of_each_row() -> None:
    machines = {row.key: make_machine(row) for row in ROWS}
    assert [key for key, machine in machines.items() if machine is None] == [], "no value meets a condition of these rows"
    assert [row.key for row in JUDGED if not found(row, machines[row.key] or Snapshot())] == []


def test_each_condition_of_a_row_counts() -> None:
    ignored = [
        (row.key, name)
        for row in JUDGED
        for name in row.when
        if not name.startswith("log")
        # `set` and `absent` have one way to fail, a flag the other value
        and (snapshot := make_machine(row, without=name)) is not None
        and found(row, snapshot)
    ]
    assert ignored == []


def test_every_row_has_its_diagnosis_in_the_book() -> None:
    assert {row.diagnosis for row in MATRIX.rows} <= set(MATRIX.diagnoses)


def test_a_row_with_other_words_loses_its_proof() -> None:
    for row in filter(asks_for_lines, MATRIX.rows):
        assert not list(unproven(row, MATRIX)), row.key
        asked = next(n for n, c in row.when.items() if n.startswith("log") and not c.startswith("!"))
        broken = msgspec.structs.replace(row, when={**row.when, asked: "words that no software prints"})
        assert [field for field, _ in unproven(broken, MATRIX)] == ["example"], row.key
