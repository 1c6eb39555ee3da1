"""How a finding on a repository is made: its evidence begins with the file and line that decide, then names the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocm_doctor.lint.declared import Environment, Place, Target
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Subject
from rocm_doctor.rules.findings import finding


def found(
    matrix: Matrix, diagnosis: str, environment: Environment, target: Target, places: Sequence[Place], **fields: Any
) -> Finding:
    """A finding at the first of the places; its subject is the environment. What the diagnosis says of a machine to type is left out."""
    evidence = [*(p.reading() for p in dict.fromkeys(places)), *target_reading(target)]
    return finding(
        matrix, diagnosis, evidence=evidence, subject=subject(environment, target), **{"commands": (), "verify": (), **fields}
    )


def subject(environment: Environment, target: Target) -> Subject:
    """How a finding names its environment; the target is named where it was declared by name."""
    return Subject(f"{environment.name} for {target.name}" if target.place else environment.name, "environment")


def required(requirement: str, place: Place) -> str:
    """The edit that makes a file ask for this: its line, or the project behind a lock, which no hand edits."""
    name = place.file.rsplit("/", 1)[-1]
    if name.endswith(".lock") or name.startswith("pylock"):
        return f"Require {requirement} in the project and lock again."
    if is_hashed(place):
        return f"Require {requirement} in what {place.file} is compiled from, and compile it again with its hashes."
    return f"Write {requirement} on {place.words}."


def is_hashed(place: Place) -> bool:
    """True for a line with hashes: pip then takes none of its list without."""
    return "--hash=" in place.quote


def of_file(reading: Reading) -> bool:
    """True if a reading is of a file that declares something, and not of the target or of the catalog."""
    return reading.origin not in ("matrix", "target")


def field_reading(target: Target, name: str, value: str) -> Reading:
    """Where one field of the target was declared."""
    if target.place:
        return Reading(*target.place.at, f"target {target.name}: {name} {value}", "target")
    return Reading("command line", f"--{name}", f"target {name} {value}", "target")


def target_reading(target: Target) -> list[Reading]:
    """Where the target as a whole was declared: a line of the policy, or the command line."""
    said = ", ".join(
        f"{k} {v}".strip() for k, v in (("", target.gpu), ("ROCm", target.rocm), ("Python", target.python), ("", target.os)) if v
    )
    if target.place:
        return [Reading(*target.place.at, f"target {target.name}: {said}", "target")]
    return [Reading("command line", "", f"target {said}", "target")]
