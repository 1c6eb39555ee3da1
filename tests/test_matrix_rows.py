"""Every row can hold, and every condition of it counts: a row that no machine can meet, or that ignores one, fails here."""

from __future__ import annotations

import re

import pytest
from matrix_machines import MATRIX, fact

from rocm_doctor.coords import Kind, coord
from rocm_doctor.model import Artifact, Fact, Gpu, Row, Snapshot, Value
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs

ROWS = [row for row in MATRIX.rows if not row.key.startswith(("sig-", "smoke-"))]
JUDGED = [row for row in ROWS if row.status != "works" or row.harmless]
NUMBERS = ("0.1", "1", "2", "3", "4", "7.14.0", "10", "999")


def candidates(kind: Kind, condition: str) -> list[Value]:
    """Values that a condition may hold for, built out of its own words."""
    words = [w.strip() for w in condition.removeprefix("!").split("|")]
    if kind == "version":
        bounds = [b.replace(".*", "") for w in words for b in re.findall(r"\d[\w.*-]*", w)]
        return [None, "absent", *(v for b in bounds for v in (b, f"{b}.1", f"{b}.99")), *NUMBERS]
    if kind == "release":
        numbers = candidates("version", re.sub(r"(upstream|amd):", "", condition))
        return [f"{line}:{n}" for line in ("upstream", "amd") for n in numbers if isinstance(n, str) and n != "absent"]
    if kind == "number":
        return [None, 0, 1, 2**20, 2**33, 2**36, 2**40, *(int(w) for w in words if w.isdigit())]
    if kind == "flag":
        return [True, False]
    plain = [re.sub(r"\[!?(.).*?\]", r"\1", w).replace("*", "1").replace("?", "1") for w in words]
    return [None, *plain, "7", "elsewhere", "gfx942"]


def value_for(name: str, condition: str, wanted: bool) -> Fact | None:
    known = coord(name)
    assert known is not None
    values = candidates(known.kind, condition)
    made = [fact(name, (v,) if known.kind == "list" and isinstance(v, str) else v) for v in values]
    return next((f for f in made if holds(known.kind, condition, f) is wanted), None)


def snapshot_of(row: Row, without: str = "") -> Snapshot | None:
    """A machine for which all conditions of the row hold, except (where given) the one that must not."""
    facts: dict[str, Fact] = {}
    gpu: dict[str, Fact] = {}
    for name, condition in row.when.items():
        if name.startswith("log"):
            continue
        made = value_for(name, condition, name != without)
        if made is None:
            return None
        (gpu if name.startswith("gpu.") else facts)[name.removeprefix("gpu.")] = made
    return Snapshot(facts, (Gpu(gpu),), gpus_listed=True)


def text_of(row: Row) -> Logs:
    lines = [c.split("|")[0].replace("*", " x ") for n, c in row.when.items() if n.startswith("log") and not c.startswith("!")]
    return Logs([Artifact("paste/text", "paste", "\n".join(lines))])


def found(row: Row, snapshot: Snapshot) -> bool:
    findings, _ = judge(snapshot, text_of(row), MATRIX, ())
    return row.key in {f.row for f in findings}


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.key)
def test_a_machine_can_meet_the_conditions(row: Row) -> None:
    snapshot = snapshot_of(row)
    assert snapshot is not None, "no value meets a condition of this row"
    if row in JUDGED:
        assert found(row, snapshot)


@pytest.mark.parametrize(("row", "name"), [(r, n) for r in JUDGED for n in r.when if not n.startswith("log")], ids=str)
def test_each_condition_counts(row: Row, name: str) -> None:
    snapshot = snapshot_of(row, without=name)
    if snapshot is not None:  # `set` and `absent` have one way to fail, a flag the other value
        assert not found(row, snapshot)


def test_every_row_has_its_diagnosis_in_the_book() -> None:
    assert {row.diagnosis for row in MATRIX.rows} <= set(MATRIX.diagnoses)
