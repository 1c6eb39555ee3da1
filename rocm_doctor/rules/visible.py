"""*_VISIBLE_DEVICES: the GPUs left after ROCR has chosen and HIP has renumbered and chosen again."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.commands import fill
from rocm_doctor.facts.derive import ROCR, indices, visibility_variables
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Snapshot
from rocm_doctor.rules.findings import finding, readings


def visible_devices(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for visibility variables that hide every GPU, name a missing one, or apply twice."""
    names = visibility_variables(snapshot)
    left: int | None = len(snapshot.gpus) if snapshot.gpus and all(map(_is_complete, snapshot.gpus)) else None
    for name in names:
        chosen = indices(str(snapshot.get(f"env.{name}").value))
        if chosen is None:
            return
        if not chosen or (left is not None and chosen[0] >= left):
            yield _hidden(snapshot, matrix, name, names, left, chosen)
            return
        kept = [i for i in chosen if left is None or i < left]
        if len(kept) < len(chosen):
            yield _partly(snapshot, matrix, name, names, left or 0)
        left = len(kept)


def _is_complete(gpu: Gpu) -> bool:
    """True if the GPUs were listed completely: a person, a target and collect_env name one, and there may be others."""
    read = (r for fact in gpu.facts.values() for r in fact.readings)
    return any(r.origin != "target" and r.artifact != "paste/text" and "collect_env" not in r.artifact for r in read)


def _hidden(snapshot: Snapshot, matrix: Matrix, name: str, names: list[str], left: int | None, chosen: list[int]) -> Finding:
    value = snapshot.get(f"env.{name}").value
    twice = len(names) == 2 and name != ROCR and bool(chosen)
    why = (
        f"{ROCR} leaves {left}, which HIP numbers from 0; {name}={value} then names a hidden one."
        if twice
        else f"{name}={value} leaves none of the {left} GPUs." if left is not None else f"{name}={value} hides every GPU."
    )  # fmt: skip
    return finding(
        matrix,
        "access.visible-devices",
        title=f"{name}={value} hides every GPU" + (f" after {ROCR}" if twice else ""),
        cause=why,
        evidence=readings(snapshot, *(f"env.{n}" for n in names)),
        advice=f"{_numbers(snapshot)}Unset {name}.",
        commands=fill("unset {variable}", variable=name),
    )


def _numbers(snapshot: Snapshot) -> str:
    """How many GPUs the machine has and how they are numbered; empty where they are not known."""
    count = len(snapshot.gpus)
    if not count:
        return ""
    return (
        "This machine has one GPU, number 0. "
        if count == 1
        else f"This machine has {count} GPUs, numbered from 0 to {count - 1}. "
    )


def _partly(snapshot: Snapshot, matrix: Matrix, name: str, names: list[str], left: int) -> Finding:
    value = snapshot.get(f"env.{name}").value
    return finding(
        matrix,
        "access.visible-devices",
        severity="warning",
        title=f"{name}={value} names a GPU that does not exist",
        cause=f"{left} GPUs are available, numbered from 0; everything after an invalid index is ignored.",
        evidence=readings(snapshot, *(f"env.{n}" for n in names)),
        advice=f"{_numbers(snapshot)}Take the other numbers out of {name}.",
        commands=fill("echo ${variable}", variable=name),
    )
