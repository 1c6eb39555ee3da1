"""Proof of a row with a log condition: its own `example`, judged on a machine that meets its other conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.coords import Kind, coord
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Fact, Gpu, Reading, Row, Snapshot, Value
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.engine import failure_lines, judge
from rocm_doctor.rules.logs import Logs

_NUMBERS = ("0.1", "1", "2", "3", "4", "7.14.0", "10", "999")


def unproven(row: Row, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Field and words of each lint error of a row with a log condition; none if `example` and `not` prove it."""
    if not asks_for_lines(row):
        return
    if not row.example:
        yield "example", "a row with a log condition needs an example line, as the software prints it"
        return
    machine = make_machine(row)
    if machine is None:
        yield "when", "no machine meets the conditions other than `log`"
        return
    if not finds(row, matrix, machine, row.example):
        yield "example", "the row does not hold for its own example"
    if row.not_ and finds(row, matrix, machine, row.not_):
        yield "not", "the row holds for the text that `not` forbids"


def asks_for_lines(row: Row) -> bool:
    """True if the row needs a line of a log to hold."""
    return any(name.startswith("log") and not words.startswith("!") for name, words in row.when.items())


def finds(row: Row, matrix: Matrix, machine: Snapshot, text: str) -> bool:
    """True if the row alone is a finding on this machine with this text, beside the catalog of this matrix."""
    alone = Matrix(rows=(row,), raw=matrix.raw)
    found, _ = judge(machine, Logs([Artifact("paste/text", "paste", text)], failure_lines(alone)), alone, ())
    return row.key in {f.row for f in found}


def make_machine(row: Row, without: str = "") -> Snapshot | None:
    """A machine that meets the row's conditions other than `log`; None if no value meets one of them.

    `without`: the condition that the machine must not meet.
    """
    facts: dict[str, Fact] = {}
    gpu: dict[str, Fact] = {}
    for name, condition in row.when.items():
        if not name.startswith("log"):
            made = _make_fact(name, condition, name != without)
            if made is None:
                return None
            (gpu if name.startswith("gpu.") else facts)[name.removeprefix("gpu.")] = made
    return Snapshot(facts, (Gpu(gpu),), gpus_listed=True)


def _make_fact(name: str, condition: str, wanted: bool) -> Fact | None:
    known = coord(name)
    if known is None:
        return None
    values = (((v,) if known.kind == "list" and isinstance(v, str) else v) for v in _candidates(known.kind, condition))
    made = (Fact(v, (Reading("generated", name, f"{name}={v}"),)) for v in values)
    return next((f for f in made if holds(known.kind, condition, f) is wanted), None)


def _candidates(kind: Kind, condition: str) -> list[Value]:
    """Values that may meet a condition, built from its own words."""
    words = [w.strip() for w in condition.removeprefix("!").split("|")]
    if kind == "version":
        bounds = [b.replace(".*", "") for w in words for b in re.findall(r"\d[\w.*-]*", w)]
        return [None, "absent", *(v for b in bounds for v in (b, f"{b}.1", f"{b}.99")), *_NUMBERS]
    if kind == "release":
        numbers = _candidates("version", re.sub(r"(upstream|amd):", "", condition))
        return [f"{line}:{n}" for line in ("upstream", "amd") for n in numbers if isinstance(n, str) and n != "absent"]
    if kind == "number":
        return [None, 0, 1, 2**20, 2**33, 2**36, 2**40, *(int(w) for w in words if w.isdigit())]
    if kind == "flag":
        return [True, False]
    plain = [re.sub(r"\[!?(.).*?\]", r"\1", w).replace("*", "1").replace("?", "1") for w in words]
    return [None, *plain, "7", "elsewhere", "gfx942"]
