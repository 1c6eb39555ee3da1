"""Machines made of facts, for the tests of the matrix: no files, no tools, no GPU."""

from __future__ import annotations

from collections.abc import Mapping

from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Reading, Snapshot, Undecided, Value
from rocm_doctor.rules import RULES
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
