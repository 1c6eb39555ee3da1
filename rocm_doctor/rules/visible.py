"""*_VISIBLE_DEVICES: the GPUs left after ROCR has chosen and HIP has renumbered and chosen again."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.facts.derive import ROCR, visibility_variables, visible_indices
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Snapshot
from rocm_doctor.rules.findings import finding, readings


def visible_devices(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for visibility variables that hide every GPU, name a missing one, or apply twice."""
    names = visibility_variables(snapshot)
    left: int | None = len(snapshot.gpus) if snapshot.gpus and all(map(_is_complete, snapshot.gpus)) else None
    for name in names:
        chosen = visible_indices(str(snapshot.value(f"env.{name}")))
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
    """True if a tool that lists all GPUs has read this one. A pasted sentence, a declared target and collect_env may leave others
    out."""
    read = (r for fact in gpu.facts.values() for r in fact.readings)
    return any(r.origin != "target" and r.artifact != "paste/text" and "collect_env" not in r.artifact for r in read)


def _hidden(snapshot: Snapshot, matrix: Matrix, name: str, names: list[str], left: int | None, chosen: list[int]) -> Finding:
    twice = len(names) == 2 and name != ROCR and bool(chosen)
    case = "access.visible-devices/none" if left is None else "access.visible-devices/none-left"
    return finding(
        matrix,
        "access.visible-devices/twice" if twice else case,
        readings(snapshot, *(f"env.{n}" for n in names)),
        variable=name,
        chosen=snapshot.value(f"env.{name}"),
        left=left,
        numbers=_numbers(snapshot),
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
    evidence, chosen = readings(snapshot, *(f"env.{n}" for n in names)), snapshot.value(f"env.{name}")
    case = "access.visible-devices/partly"
    return finding(matrix, case, evidence, variable=name, chosen=chosen, left=left, numbers=_numbers(snapshot))


def hidden_gpus(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The note on a variable that hides some GPUs, but not all."""
    hidden = [n for n, gpu in enumerate(snapshot.gpus) if gpu.value("visible") is False]
    cards, left = [n for n in hidden if snapshot.gpus[n].value("is_apu") is not True], len(snapshot.gpus) - len(hidden)
    if cards and left:
        evidence = snapshot.gpus[cards[0]].get("visible").readings
        names = " and ".join(dict.fromkeys(r.quote.partition("=")[0].strip() for r in evidence)) or "a visibility variable"
        shown = f"{left} of {len(snapshot.gpus)} GPUs {'is' if left == 1 else 'are'}"
        case, left_out = "access.visible-devices/some", ", ".join(map(str, cards))
        yield finding(matrix, case, evidence, shown=shown, names=names, left_out=left_out)
