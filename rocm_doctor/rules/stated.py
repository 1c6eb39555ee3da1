"""What a person says himself: with one release it works and with another it fails, or it began with an update."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import STATED, Confidence, Fact, Finding, Reading, Snapshot
from rocm_doctor.rules.findings import finding

_DIAGNOSES = {
    "firmware": "version.firmware-regression",
    "kernel": "version.kernel-regression",
    "driver": "version.driver-mismatch",
    "program": "version.program-regression",
    "rocm": "version.rocm-regression",
    "torch": "version.torch-regression",
}
_TITLES = {"firmware": "linux-firmware", "kernel": "kernel", "driver": "driver", "rocm": "ROCm", "torch": "torch"}
_COMMON = ("kernel", "driver")
"""Parts whose title takes an article."""


def stated_regressions(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """A finding for each part of which the text names the release that works, or says that the trouble began with its update."""
    rest = []
    for name, diagnosis in _DIAGNOSES.items():
        works, broken = snapshot.get(f"said.works.{name}"), snapshot.get(f"said.broken.{name}")
        title = _title(name, snapshot, matrix)
        if _parts(works) and _parts(broken) and _differ(_parts(works)[-1], _parts(broken)[-1]):
            words = f"{title} {_parts(broken)[-1]} fails, and {_parts(works)[-1]} works"
            yield _make_finding(matrix, diagnosis, words, (*broken.readings, *works.readings), "medium")
            continue
        for fact, words in (
            ("said.earlier", f"an earlier {title} works"),
            ("said.updated", f"it began with an update of {'the ' * (name in _COMMON)}{title}"),
        ):
            if name in _parts(snapshot.get(fact)):
                rest.append(_make_finding(matrix, diagnosis, words, snapshot.get(fact).readings))
                break
    yield from rest


def _make_finding(
    matrix: Matrix, diagnosis: str, title: str, evidence: tuple[Reading, ...], confidence: Confidence = "low"
) -> Finding:
    return finding(
        matrix,
        diagnosis,
        title=title,
        evidence=evidence,
        severity="warning",
        confidence=confidence,
        grade="field",
        origin=STATED,
    )


def _differ(works: str, broken: str) -> bool:
    """False for one release in a longer and a shorter form, and for a build that is not for AMD GPUs."""
    short, long = sorted((works, broken), key=len)
    return not long.startswith(short) and "+cu" not in broken and "+cpu" not in broken


def _parts(fact: Fact) -> tuple[str, ...]:
    return fact.value if isinstance(fact.value, tuple) else ()


def _title(name: str, snapshot: Snapshot, matrix: Matrix) -> str:
    known = snapshot.get("said.program").value
    program = next((one.title for one in matrix.applications if one.key == known), "program")
    return _TITLES.get(name, program)
