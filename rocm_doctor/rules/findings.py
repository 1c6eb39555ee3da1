"""Findings: words from the matrix, evidence from the snapshot, severity from one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rocm_doctor.commands import fill
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.advice import AdviceCase
from rocm_doctor.matrix.ranges import remedy
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import (
    GRADES,
    THE_MACHINE,
    Command,
    Confidence,
    Fact,
    Finding,
    Gpu,
    Grade,
    Reading,
    Severity,
    Snapshot,
    Status,
    Subject,
    Value,
)

SEVERITY: dict[Status, tuple[Severity, Severity, Severity, Severity]] = {
    "wrong": ("error", "error", "error", "warning"),
    "broken": ("error", "error", "warning", "note"),
    "unsupported": ("warning", "warning", "note", "note"),
    "degraded": ("warning", "warning", "note", "note"),
    "allowed": ("note", "note", "note", "note"),
    "works": ("note", "note", "note", "note"),
}
"""Severity of a row by its status and, in the order of GRADES, by its grade."""
_LOWERED: dict[Severity, Severity] = {"error": "warning", "warning": "warning", "note": "note"}


def finding(
    matrix: Matrix,
    case: str,
    evidence: Iterable[Reading],
    *,
    subject: Subject = THE_MACHINE,
    severity: Severity | None = None,
    confidence: Confidence | None = None,
    commands: Sequence[Command | str] | None = None,
    sources: tuple[str, ...] = (),
    grade: Grade | None = None,
    **values: object,
) -> Finding:
    """A finding of a Python rule: a case (`ID` or `ID/CASE` of catalog/cases.yaml) with the values that its words name.

    What the case leaves out is its diagnosis'. Raises KeyError for a diagnosis that the matrix does not have, and for a value that is
    not given.
    """
    diagnosis = matrix.diagnoses[case.partition("/")[0]]
    entry = _case(matrix, case)
    title, cause, advice = (
        getattr(entry, name).format_map(values).strip() or getattr(diagnosis, name) for name in ("title", "cause", "advice")
    )
    if commands is None:
        commands = diagnosis.commands if entry.commands is None else case_commands(matrix, case, **values)
    return stamp(
        Finding(
            id=diagnosis.id,
            case=case,
            title=title,
            severity=severity or entry.severity,
            confidence=confidence or entry.confidence,
            cause=cause,
            subject=subject.name,
            subject_kind=subject.kind,
            status=entry.status,
            grade=grade or entry.grade,
            evidence=tuple(dict.fromkeys(evidence)),
            advice=advice,
            commands=matrix.classify(commands),
            verify=matrix.classify(entry.verify or diagnosis.verify),
            sources=sources or entry.sources or diagnosis.sources,
            settle=next(iter(matrix.classify(filter(None, (entry.settle or diagnosis.settle,)))), None),
        )
    )


def _case(matrix: Matrix, name: str) -> AdviceCase:
    """The case of that name, of its own diagnosis or of any; an empty one where the matrix is older than the rule."""
    cases = matrix.cases
    return cases.get(name) or cases.get("*/" + name.partition("/")[2]) or AdviceCase(name)


def case_commands(matrix: Matrix, case: str, **values: object) -> tuple[Command, ...]:
    """The commands of a case with the values that they name, without those that refuse a value."""
    templates = _case(matrix, case).commands or ()
    commands = (msgspec.structs.replace(template, text=text) for template in templates for text in fill(template.text, **values))
    return matrix.classify(commands)


def row_finding(row: Row, matrix: Matrix, evidence: Iterable[Reading], confidence: Confidence, subject: Subject) -> Finding:
    """A finding of a matrix row; what the row leaves out (advice, commands, verify) comes from its diagnosis."""
    diagnosis = matrix.diagnoses.get(row.diagnosis)
    advice = row.advice or (diagnosis.advice if diagnosis and not row.commands else "")
    made = Finding(
        id=row.diagnosis,
        row=row.key,
        title=row.title,
        severity="note" if row.harmless else SEVERITY[row.status][GRADES.index(row.grade)],
        confidence=confidence,
        cause=row.cause,
        subject=subject.name,
        subject_kind=subject.kind,
        status=row.status,
        grade=row.grade,
        evidence=tuple(dict.fromkeys(evidence)),
        advice=f"{advice} {remedy(row.affected)}".strip(),
        commands=matrix.classify(row.commands or (diagnosis.commands if diagnosis and not row.advice else ())),
        verify=matrix.classify(row.verify or (diagnosis.verify if diagnosis else ())),
        sources=row.sources,
        settle=next(iter(matrix.classify(filter(None, (row.settle,)))), None),
    )
    return stamp(lower(made) if confidence == "low" else made)


def lower(finding: Finding) -> Finding:
    """The same finding as a hypothesis: low confidence, and a warning at most."""
    return msgspec.structs.replace(finding, confidence="low", severity=_LOWERED[finding.severity])


def drop_repeats(made: Finding) -> Finding:
    """The finding with each command once, in `commands` before `verify` before `settle`."""
    texts = {c.text for c in made.commands}
    verify = tuple(c for c in made.verify if c.text not in texts)
    texts |= {c.text for c in verify}
    return msgspec.structs.replace(
        made, verify=verify, settle=made.settle if made.settle and made.settle.text not in texts else None
    )


def stamp(made: Finding) -> Finding:
    """The same finding with each command said once, and its fingerprint: a hash of what it is about, not of the words or the
    machine it was seen on."""
    import hashlib

    decisive = "\n".join((made.id, made.row, made.subject))
    return msgspec.structs.replace(drop_repeats(made), fingerprint=hashlib.sha256(decisive.encode()).hexdigest()[:16])


def gpu_subject(gpu: Gpu, number: int) -> Subject:
    """The GPU as a report names it: `GPU 0 (gfx1100)`; a declared one is its target."""
    gfx = gpu.value("gfx")
    if any(reading.origin == "target" for reading in gpu.get("gfx").readings):
        return Subject(str(gfx), "target")
    return Subject(f"GPU {number}" + (f" ({gfx})" if isinstance(gfx, str) else ""), "gpu")


def join_gpus(findings: Iterable[Finding], snapshot: Snapshot) -> list[Finding]:
    """The findings, those that differ in nothing but the GPU as one: `GPUs 0-3 (gfx906)`, in the place of the first."""
    gpus = {gpu_subject(gpu, n).name: (n, gpu.value("gfx")) for n, gpu in enumerate(snapshot.gpus)}
    alike: dict[Finding, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(
            msgspec.structs.replace(finding, subject="", evidence=(), fingerprint="") if finding.subject in gpus else finding, []
        ).append(finding)
    return [group[0] if len(group) == 1 else _join_group(group, gpus) for group in alike.values()]


def _join_group(group: Sequence[Finding], gpus: Mapping[str, tuple[int, Value]]) -> Finding:
    subjects = dict.fromkeys(finding.subject for finding in group)
    if len(subjects) == 1:
        return group[0]
    numbers, targets = zip(*sorted((gpus[subject] for subject in subjects), key=lambda gpu: gpu[0]))
    gfx = f" ({targets[0]})" if len(set(targets)) == 1 and isinstance(targets[0], str) else ""
    evidence = tuple(dict.fromkeys(reading for finding in group for reading in finding.evidence))
    return stamp(msgspec.structs.replace(group[0], subject=f"GPUs {_spans(numbers)}{gfx}", evidence=evidence))


def _spans(numbers: Sequence[int]) -> str:
    """`0-3, 5`: ascending numbers, neighbours as a span."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in zip(starts, ends))


def comment_out(line: str, path: str) -> tuple[str, ...]:
    """The command that turns a line of a system file, by its number, into a comment; none where the path cannot be quoted safely."""
    return fill("sudo sed -i '{value}s/^/# /' {path}", value=line, path=path)


def training_gpus(snapshot: Snapshot) -> list[tuple[Subject, Gpu]]:
    """(subject, GPU) for each GPU that a run would use: not for hidden ones, and not for an integrated GPU beside a discrete
    one."""
    seen = [(gpu_subject(g, n), g) for n, g in enumerate(snapshot.gpus) if g.value("visible") is not False]
    cards = any(g.value("is_apu") is False for _, g in seen)
    return [(subject, g) for subject, g in seen if not (cards and g.value("is_apu") is True)]


def known_gpus(snapshot: Snapshot) -> list[tuple[Subject, Gpu]]:
    """Those of `training_gpus` whose target is known."""
    return [(subject, gpu) for subject, gpu in training_gpus(snapshot) if isinstance(gpu.value("gfx"), str)]


def choosable_gpus(snapshot: Snapshot) -> list[Gpu]:
    """The GPUs that a run should use: those of `training_gpus`. If that has none, or lacks every discrete GPU: all discrete GPUs,
    without any of them all GPUs."""
    seen = [gpu for _, gpu in training_gpus(snapshot)]
    discrete = [gpu for gpu in snapshot.gpus if gpu.value("is_apu") is False]
    return seen if seen and (not discrete or any(gpu in discrete for gpu in seen)) else discrete or list(snapshot.gpus)


def loaded_target(gpu: Gpu) -> str:
    """The target whose code the runtime loads for a GPU: the reported one, else the chip's."""
    reported = gpu.value("gfx_reported")
    return reported if isinstance(reported, str) else str(gpu.value("gfx"))


def fact_readings(fact: Fact, name: str) -> tuple[Reading, ...]:
    """The readings of a fact; for one without readings, a reading that states its value."""
    return fact.readings or (Reading("snapshot", name, f"{name}: {fact.words}", "snapshot"),)


def readings(snapshot: Snapshot, *names: str) -> tuple[Reading, ...]:
    """The first reading of each of these facts of the machine, in this order, without repetitions."""
    return tuple(dict.fromkeys(r for name in names for r in fact_readings(snapshot.get(name), name)[:1]))
