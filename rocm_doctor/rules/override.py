"""HSA_OVERRIDE_GFX_VERSION, judged for each GPU and this build: needed, in use, pointless or harmful. Always reported when set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_doctor.binaries.targets import override_target
from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override, Target
from rocm_doctor.model import THE_MACHINE, Fact, Finding, Gpu, Reading, Snapshot, Subject
from rocm_doctor.rules.build import compiled_targets, holds_code
from rocm_doctor.rules.findings import finding, gpu_subject
from rocm_doctor.versions import sort_key

NAME = "HSA_OVERRIDE_GFX_VERSION"
_TAKES_EMPTY = "7.13"
"""The first ROCm from which on an empty value may count as none; releases before it were made before that change."""


def override(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One finding for each GPU that the variable affects."""
    fact = snapshot.get("env." + NAME)
    if not isinstance(fact.value, str):
        return
    target, value = override_target(fact.value), fact.value
    if not value.strip():
        yield from _empty(snapshot, matrix, fact)
    elif snapshot.value("platform") == "windows":
        yield finding(matrix, "arch.override-pointless/windows", fact.readings, value=value)
    elif target is None:
        yield finding(matrix, "arch.override-wrong/no-version", fact.readings, value=value)
    else:
        for number, gpu in enumerate(snapshot.gpus):
            yield _override_finding(snapshot, matrix, fact, target, gpu, gpu_subject(gpu, number))
        if not snapshot.gpus:
            yield _open_finding(matrix, fact, target)


def _empty(snapshot: Snapshot, matrix: Matrix, fact: Fact) -> Iterator[Finding]:
    """The finding for a variable that is set and empty. The runtime asks whether it is set, so it parses the empty value and fails."""
    loaded = snapshot.get("rocm.loaded")
    release = loaded.value if isinstance(loaded.value, str) else ""
    if snapshot.value("platform") != "windows" and not (release and sort_key(release) >= sort_key(_TAKES_EMPTY)):
        evidence = (*fact.readings[:1], *(loaded.readings[:1] if release else ()))
        yield finding(matrix, "arch.override-wrong/empty", evidence, severity="error" if release else "warning")


def _open_finding(matrix: Matrix, fact: Fact, target: str, subject: Subject = THE_MACHINE) -> Finding:
    case = "arch.override-in-use/unknown-chip"
    return finding(matrix, case, fact.readings, subject=subject, value=fact.value, target=target)


def _override_finding(snapshot: Snapshot, matrix: Matrix, fact: Fact, target: str, gpu: Gpu, subject: Subject) -> Finding:
    """What the override does to one GPU."""
    gfx = gpu.get("gfx")
    if not isinstance(gfx.value, str):
        return _open_finding(matrix, fact, target, subject)
    evidence, chip = (*fact.readings[:1], *gfx.readings[:1]), matrix.gfx.get(gfx.value)
    known = next((o for o in chip.overrides if o.value == str(fact.value).strip()), None) if chip else None
    values: dict[str, Any] = {"value": fact.value, "target": target, "gfx": gfx.value, "words": known.words if known else ""}
    sources = known.sources if known else ()
    if target == gfx.value:
        return finding(matrix, "arch.override-pointless/own-target", evidence, subject=subject, sources=sources, **values)
    other = matrix.gfx.get(target)
    if not same_isa(chip, other) or (known is None and _is_newer(other, chip)):
        return _wrong(matrix, known, evidence, subject, values)
    targets, sure = compiled_targets(snapshot, matrix)
    if targets and holds_code(targets, target) is False:
        return finding(
            matrix,
            "arch.override-wrong/absent",
            (*evidence, *targets.readings[:1]),
            subject=subject,
            confidence=sure,
            severity="warning" if sure == "low" else "error",
            **values,
        )
    native = holds_code(targets, gfx.value)
    if native and targets:
        return finding(
            matrix,
            "arch.override-pointless/hides-native",
            (*evidence, *targets.readings[:1]),
            subject=subject,
            confidence=sure,
            severity="warning" if known and known.verdict in ("faulty", "harmful") else "note",
            sources=sources,
            **values,
        )
    if known and known.verdict == "harmful":
        return _wrong(matrix, known, evidence, subject, values)
    case = "arch.override-in-use/needed" if native is False else "arch.override-in-use/compatible"
    return finding(matrix, case, evidence, subject=subject, sources=sources, **values)


def same_isa(one: Target | None, other: Target | None) -> bool:
    """True for two targets of one generic ISA, which run each other's code in practice."""
    return bool(one and other and one.generic and one.generic == other.generic)


def _is_newer(other: Target | None, one: Target | None) -> bool:
    """True if a target is of a later family: RDNA 3.5 code may use instructions that RDNA 3 lacks."""
    return bool(one and other and other.family > one.family)


def _wrong(
    matrix: Matrix, known: Override | None, evidence: tuple[Reading, ...], subject: Subject, values: dict[str, Any]
) -> Finding:
    """The finding for an incompatible ISA, or one reported to cause memory faults on this chip."""
    reported = known is not None and known.verdict in ("faulty", "harmful")
    return finding(
        matrix,
        "arch.override-wrong/reported" if reported else "arch.override-wrong/other-isa",
        evidence,
        subject=subject,
        confidence="high" if not known or known.grade != "field" or known.verdict == "harmful" else "medium",
        severity="warning" if known and known.verdict == "faulty" and known.grade == "field" else "error",
        sources=known.sources if known else (),
        grade=known.grade if known else "official",
        **values,
    )


def override_hides_gpu(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`arch.override-wrong` if a tool prints a target of another ISA beside the name of a GPU that has a single target: an override is
    still set, where no PCI id shows it."""
    for number, gpu in enumerate(snapshot.gpus):
        gfx, name = gpu.value("gfx"), gpu.value("marketing_name")
        if isinstance(gfx, str) and isinstance(name, str) and gfx in matrix.gfx:
            meant = gpu_names(matrix).targets_by_name(name)
            if len(meant) == 1 and meant[0] in matrix.gfx and matrix.gfx[meant[0]].generic != matrix.gfx[gfx].generic:
                evidence = (*gpu.get("gfx").readings[:1], *gpu.get("marketing_name").readings[:1])
                case, subject = "arch.override-wrong/hidden", gpu_subject(gpu, number)
                yield finding(matrix, case, evidence, subject=subject, name=name, chip=meant[0], gfx=gfx)
