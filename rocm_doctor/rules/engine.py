"""Rows × snapshot: three-valued, root cause before consequence, and what could not be decided said aloud.

False settles a row. All true makes a finding. A row whose failure line was seen but whose other facts are unknown makes a
hypothesis (low confidence). A row without a failure line that lacks a fact is undecided, and named when the rest of it held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.coords import coord
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Confidence, Fact, Finding, Gpu, Reading, Row, Snapshot, Undecided
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import from_row, quoted, subject_of
from rocm_doctor.rules.logs import Logs

Rule = Callable[[Snapshot, Matrix], Iterable[Finding]]
_RANK = {"error": 0, "warning": 1, "note": 2, "high": 0, "medium": 1, "low": 2}


class Judged(NamedTuple):
    """One row against one subject: what held (readings), which facts were missing, and how many facts decided."""

    evidence: list[Reading]
    missing: list[str]
    decided: int
    seen: bool


def judge(snapshot: Snapshot, logs: Logs, matrix: Matrix, rules: Sequence[Rule]) -> tuple[list[Finding], list[Undecided]]:
    """All findings, ranked, and all undecided judgements."""
    findings: list[Finding] = []
    undecided: list[Undecided] = []
    for row in matrix.rows:
        if row.status != "works":
            _judge_row(row, snapshot, logs, matrix, findings, undecided)
    for rule in rules:
        findings += rule(snapshot, matrix)
    return ranked(findings, matrix), undecided


def _judge_row(
    row: Row, snapshot: Snapshot, logs: Logs, matrix: Matrix, findings: list[Finding], undecided: list[Undecided]
) -> None:
    for subject, gpu in _subjects(row, snapshot):
        judged = _against(row, snapshot, gpu, logs)
        if judged is None:
            continue
        if not judged.missing or judged.seen:
            findings.append(from_row(row, matrix, judged.evidence, _confidence(row, judged), subject, _settle(row, judged)))
        elif judged.decided:
            undecided.append(Undecided(row.diagnosis, row.key, row.title, tuple(judged.missing), _settle(row, judged)))


def _subjects(row: Row, snapshot: Snapshot) -> list[tuple[str, Gpu | None]]:
    """What a row speaks of: the machine, or each GPU when a condition is about one (an unknown GPU when none was listed)."""
    if not any(name.startswith("gpu.") for name in row.when):
        return [("", None)]
    if not snapshot.gpus and not snapshot.gpus_listed:
        return [("", Gpu())]
    return [(subject_of(gpu, n), gpu) for n, gpu in enumerate(snapshot.gpus)]


def _against(row: Row, snapshot: Snapshot, gpu: Gpu | None, logs: Logs) -> Judged | None:
    """None as soon as one condition is false. Facts are asked before logs: they are cheaper."""
    evidence: list[Reading] = []
    missing: list[str] = []
    decided = 0
    for name, condition in row.when.items():
        if name.startswith("log"):
            continue
        fact = _fact(name, snapshot, gpu)
        truth = _holds(name, condition, fact)
        if truth is False:
            return None
        if truth is None:
            missing.append(name)
        else:
            decided += 1
            evidence += quoted(fact, name)[:2]
    seen = _logs(row, logs)
    return None if seen is None else Judged(seen + evidence, missing, decided, bool(seen))


def _fact(name: str, snapshot: Snapshot, gpu: Gpu | None) -> Fact:
    return gpu.get(name[4:]) if gpu is not None and name.startswith("gpu.") else snapshot.get(name)


def _holds(name: str, condition: str, fact: Fact) -> bool | None:
    known = coord(name)
    return holds(known.kind, condition, fact) if known else None


def _logs(row: Row, logs: Logs) -> list[Reading] | None:
    """The lines that the row's log conditions ask for; None when one is not there (or one that must not be there is)."""
    lines: list[Reading] = []
    for name, condition in row.when.items():
        if not name.startswith("log"):
            continue
        line = logs.find(condition.removeprefix("!"))
        if (line is None) != condition.startswith("!"):
            return None
        lines += [line] if line else []
    return lines


def _confidence(row: Row, judged: Judged) -> Confidence:
    """High only when facts of the machine decide; a line alone is medium if it has one common meaning, else low."""
    if judged.missing:
        return "low"
    if judged.decided:
        return "high" if row.grade != "field" or not judged.seen else "medium"
    return {"common": "medium", "possible": "low", "rare": "low"}[row.prior]  # type: ignore[return-value]


def _settle(row: Row, judged: Judged) -> str:
    return row.settle or (f"supply {', '.join(judged.missing)}" if judged.missing else "")


def ranked(findings: Iterable[Finding], matrix: Matrix) -> list[Finding]:
    """Each finding once, consequences tied to their cause, root causes first, then the severe and the certain."""
    unique = list({(f.id, f.row, f.subject): f for f in findings}.values())
    tied = [_tied(f, unique, matrix) for f in unique]
    return sorted(tied, key=lambda f: (bool(f.follows_from), _RANK[f.severity], _RANK[f.confidence]))


def _tied(one: Finding, all_of_them: Sequence[Finding], matrix: Matrix) -> Finding:
    """A finding that names what explains it (`after`) follows from that when it was found too."""
    row = matrix.row(one.row) if one.row else None
    causes = [f for f in all_of_them if row and f is not one and (f.id in row.after or f.row in row.after)]
    return msgspec.structs.replace(one, follows_from=causes[0].row or causes[0].id) if causes else one
