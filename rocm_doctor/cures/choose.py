"""The cure of each finding: of those whose conditions hold the most specific one, with the values of this report in its commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rocm_doctor.coords import coord
from rocm_doctor.cures.values import Values, subject_gpu
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.advice import Cure
from rocm_doctor.matrix.rows import Diagnosis
from rocm_doctor.model import Finding, Gpu, ReportKind, Snapshot
from rocm_doctor.rules.conditions import excludes, holds, named_fact
from rocm_doctor.rules.findings import drop_repeats
from rocm_doctor.rules.logs import Logs


def attach_cures(findings: Iterable[Finding], snapshot: Snapshot, logs: Logs, matrix: Matrix, kind: ReportKind) -> list[Finding]:
    """The findings, each with the advice, commands and sources of its cure. One without a cure keeps its own."""
    return [_attach_cure(finding, snapshot, logs, matrix, kind) for finding in findings]


def cures_by_name(matrix: Matrix) -> Mapping[str, Sequence[Cure]]:
    """The cures by each diagnosis and row that they are for, in their order."""
    cures: dict[str, list[Cure]] = {}
    for cure in matrix.cures:
        for name in cure.of:
            cures.setdefault(name, []).append(cure)
    return cures


def _attach_cure(finding: Finding, snapshot: Snapshot, logs: Logs, matrix: Matrix, kind: ReportKind) -> Finding:
    cures, gpu = matrix.once(cures_by_name), subject_gpu(finding, snapshot)
    for name in filter(None, (finding.row, finding.id)):
        fitting = [
            cure
            for cure in cures.get(name, ())
            if _holds(cure, snapshot, gpu, logs) and _may_replace_advice(cure, name, finding, matrix)
        ]
        if fitting:
            return _apply(max(fitting, key=_rank), finding, Values(snapshot, gpu, logs, matrix, kind))
    return finding


def _rank(cure: Cure) -> tuple[bool, int]:
    """A sort key: what a person states of his own case before what is known of others, then the number of conditions."""
    return cure.before_rows, len(cure.when)


def _may_replace_advice(cure: Cure, name: str, finding: Finding, matrix: Matrix) -> bool:
    """True if the finding has no advice of its own (a row's or a rule's). Such advice is replaced only by a cure for the row, or
    by one with `before_rows`."""
    row = matrix.row(finding.row) if finding.row else None
    diagnosis = matrix.diagnoses[finding.id]
    own = (
        bool(row.advice or row.commands)
        if row
        else (finding.advice != diagnosis.advice or _has_own_commands(finding, diagnosis, matrix))
    )
    return cure.before_rows or name == finding.row or not own


def _has_own_commands(finding: Finding, diagnosis: Diagnosis, matrix: Matrix) -> bool:
    """True if a rule gave commands of its own: they rest on facts that it compared."""
    stated = {command.text for command in matrix.classify(diagnosis.commands)}
    return any(command.text not in stated for command in finding.commands)


def _holds(cure: Cure, snapshot: Snapshot, gpu: Gpu | None, logs: Logs) -> bool:
    return all(_condition(name, condition, snapshot, gpu, logs) for name, condition in cure.when.items())


def _condition(name: str, condition: str, snapshot: Snapshot, gpu: Gpu | None, logs: Logs) -> bool:
    coordinate = coord(name)
    if coordinate is None:
        return False
    if coordinate.kind == "log":
        return (logs.find(condition.removeprefix("!")) is None) is excludes(condition)
    truth = holds(coordinate.kind, condition, named_fact(name, snapshot, gpu or Gpu()))
    return excludes(condition) if truth is None else truth


def _apply(cure: Cure, finding: Finding, values: Values) -> Finding:
    cured = msgspec.structs.replace(
        finding,
        cure=cure.key,
        advice=values.words(cure.do),
        commands=values.commands(cure.commands),
        verify=values.commands(cure.verify) or finding.verify,
        cure_grade=cure.grade,
        cure_sources=cure.sources,
    )
    return drop_repeats(cured)
