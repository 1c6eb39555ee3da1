"""How a finding on a repository is made: its evidence begins with the file and line that decide, then names the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocm_doctor.declared import Place, Target, Unit
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading
from rocm_doctor.rules.findings import finding


def found(matrix: Matrix, diagnosis: str, unit: Unit, target: Target, places: Sequence[Place], **fields: Any) -> Finding:
    """A finding at the first of the places. Its subject is the unit (and the target, when several are named)."""
    evidence = [*(p.reading() for p in dict.fromkeys(places)), *target_reading(target)]
    return finding(matrix, diagnosis, evidence=evidence, subject=subject(unit, target), **fields)


def subject(unit: Unit, target: Target) -> str:
    """How a finding names its unit; the target is named where it was declared by name."""
    return f"{unit.name} for {target.name}" if target.place else unit.name


def target_reading(target: Target) -> list[Reading]:
    """Where the target was declared: a line of the policy, or the command line."""
    said = ", ".join(
        f"{k} {v}" for k, v in (("", target.gpu), ("ROCm", target.rocm), ("Python", target.python), ("", target.os)) if v
    )
    if target.place:
        return [Reading(target.place.file, f"line {target.place.line}", f"target {target.name}: {said}")]
    return [Reading("command line", "", f"target {said}")]
