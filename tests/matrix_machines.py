"""Machines made of facts, for the tests of the matrix: no files, no tools, no GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocm_doctor.coords import Kind, coord
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Reading, Snapshot, Undecided, Value
from rocm_doctor.rules import RULES
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.engine import failure_lines, judge
from rocm_doctor.rules.logs import Logs

MATRIX = load()
Facts = Mapping[str, Value]


def fact(name: str, value: Value) -> Fact:
    return Fact(value, (Reading("test", name, f"{name}={value}"),))


def machine(facts: Facts, *gpus: Facts, matrix: Matrix = MATRIX) -> Snapshot:
    """A snapshot of these facts; each mapping behind them is a GPU."""
    made = {name: fact(name, value) for name, value in facts.items()}
    cards = tuple(Gpu({name: fact(name, value) for name, value in gpu.items()}) for gpu in gpus)
    return enrich(Snapshot(made, cards, gpus_listed=True), matrix)


def judged(facts: Facts, *gpus: Facts, log: str = "", matrix: Matrix = MATRIX) -> tuple[list[Finding], list[Undecided]]:
    logs = Logs([Artifact("paste/text", "paste", log)] if log else [], failure_lines(matrix))
    return judge(machine(facts, *gpus, matrix=matrix), logs, matrix, RULES)


def findings(facts: Facts, *gpus: Facts, log: str = "", matrix: Matrix = MATRIX) -> list[Finding]:
    return judged(facts, *gpus, log=log, matrix=matrix)[0]


def rows(found: list[Finding]) -> set[str]:
    return {f.row for f in found}


def loud(found: list[Finding]) -> list[str]:
    """What is said above a note."""
    return [f"{f.severity} {f.id} {f.row} {f.title}" for f in found if f.severity != "note"]


def torch(version: str, family: str = "bundled", **more: Value) -> dict[str, Value]:
    """Facts of a ROCm torch as the probe states them, on a sound Linux machine."""
    rocm = version.partition("+rocm")[2].split(".lw")[0].split(".git")[0]
    return {
        "platform": "linux",
        "kfd.exists": True,
        "kfd.openable": True,
        "render.openable": True,
        "driver.loaded": True,
        "torch.version": version,
        "torch.rocm": rocm,
        "torch.hip": f"{rocm}.1",
        "torch.build": "rocm",
        "torch.family": family,
        "python.version": "3.12.3",
        **{name.replace("__", ".", 1): value for name, value in more.items()},
    }


_NUMBERS = ("0.1", "1", "2", "3", "4", "7.14.0", "10", "999")


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
