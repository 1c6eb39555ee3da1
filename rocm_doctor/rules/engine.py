"""Rows × snapshot in three-valued logic: findings with root causes first, and what could not be decided.

One false condition settles a row; all true make a finding. A row with a failure line (`log`) explains something that was seen, so
its exclusions (`absent`, `!...`) count as true unless a fact contradicts them; a required fact that is unknown leaves the row
undecided. Rows that explain the same line are rivals: the one with the most supporting facts is reported, the others become
hypotheses. A row is left out where one holds that overrules it (`supersedes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rocm_doctor.coords import coord
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import NO_FAULT, THE_MACHINE, Confidence, Finding, Gpu, Reading, Snapshot, Subject, Undecided
from rocm_doctor.rules.conditions import excludes, holds, named_fact
from rocm_doctor.rules.findings import fact_readings, join_gpus, lower, row_finding, training_gpus
from rocm_doctor.rules.logs import Fragments, LogConditions, Logs
from rocm_doctor.rules.ranking import RANK, rank

Rule = Callable[[Snapshot, Matrix], Iterable[Finding]]
_PRIOR = {"common": 2, "possible": 1, "rare": 0}
_CALM = "{fine}"
_NVIDIA, _AMD = "{nvidia-gpu}", "{amd}"
_RULE = 6  # a rule compares facts of the machine: it ranks before a row that explains a line
_BY_PRIOR: dict[str, Confidence] = {"common": "medium", "possible": "low", "rare": "low"}


class Judged(NamedTuple):
    """One row against one subject, no condition of which is false. `lines`: those that match; `evidence`: readings of facts that
    hold; `missing`: unknown facts; `decided`: how many conditions on facts hold."""

    lines: tuple[Reading, ...] = ()
    evidence: tuple[Reading, ...] = ()
    missing: tuple[str, ...] = ()
    decided: int = 0


class RankedFinding(NamedTuple):
    """A finding with the line that it explains (None: none). `weight`: more for more supporting facts and lines, and a likelier
    cause."""

    finding: Finding
    line: Reading | None
    weight: int


def is_nvidia(snapshot: Snapshot, logs: Logs) -> bool:
    """True if the texts name an NVIDIA GPU and nothing of AMD: their failures are not judged."""
    return not snapshot.gpus and logs.find(_NVIDIA) is not None and logs.find(_AMD) is None


def failure_lines(matrix: Matrix) -> Mapping[str, Fragments]:
    """Every log condition of rows and cures, and what it searches for."""
    return matrix.once(_failure_lines)


def _failure_lines(matrix: Matrix) -> Mapping[str, Fragments]:
    stated = [*(row.when for row in matrix.rows), *(cure.when for cure in matrix.cures)]
    conditions = (condition.removeprefix("!") for when in stated for name, condition in when.items() if name.startswith("log"))
    return LogConditions((_CALM, _NVIDIA, _AMD, *conditions), matrix.complaints)


def judge(snapshot: Snapshot, logs: Logs, matrix: Matrix, rules: Sequence[Rule]) -> tuple[list[Finding], list[Undecided]]:
    """(findings, undecided): all findings, ranked, and the rows that lack a fact, if another fact or a line speaks for them."""
    candidates: list[RankedFinding] = []
    undecided: list[Undecided] = []
    calm = logs.find(_CALM) is not None
    foreign = is_nvidia(snapshot, logs)
    over = matrix.once(overruling_rows)
    gpus = _gpus(snapshot)
    for row, about_gpus in matrix.once(_judged_rows if logs else _lineless_rows):
        if foreign and "log" in row.when:
            continue  # the failure is of an NVIDIA GPU
        for subject, gpu in gpus if about_gpus else _MACHINE:
            judged = _judge_row(row, snapshot, gpu, logs)
            if judged is None:
                continue
            if any(_settles(newer, snapshot, gpu, logs) for newer in over.get(row.key, ())):
                continue
            if judged.missing:
                if judged.decided or judged.lines:
                    undecided.append(Undecided(row.diagnosis, row.key, row.title, judged.missing))
            else:
                finding = row_finding(row, matrix, judged.lines + judged.evidence, _confidence(row, judged, calm), subject)
                weight = 2 * judged.decided + len(judged.lines) + _PRIOR[row.prior]
                candidates.append(RankedFinding(finding, judged.lines[0] if judged.lines else None, weight))
    candidates += [RankedFinding(f, None, _RULE) for rule in rules for f in rule(snapshot, matrix)]
    return rank(join_gpus(_rivals(candidates), snapshot), matrix), undecided


def overruling_rows(matrix: Matrix) -> dict[str, tuple[Row, ...]]:
    """By the key of a row, the rows that name it under `supersedes`: where one of these holds, the row is left out."""
    table: dict[str, tuple[Row, ...]] = {}
    for row in matrix.rows:
        for key in row.supersedes:
            table[key] = (*table.get(key, ()), row)
    return table


def _settles(row: Row, snapshot: Snapshot, gpu: Gpu | None, logs: Logs) -> bool:
    """True if every condition of a row holds here."""
    judged = _judge_row(row, snapshot, gpu, logs)
    return judged is not None and not judged.missing


def _judged_rows(matrix: Matrix) -> tuple[tuple[Row, bool], ...]:
    """(row, about_gpus) for each row that states a fault or is harmless; with `about_gpus` a condition is about a GPU, and it is
    judged for each."""
    return tuple(
        (row, any(name.startswith("gpu.") for name in row.when))
        for row in matrix.rows
        if row.status not in NO_FAULT or row.harmless
    )


def _lineless_rows(matrix: Matrix) -> tuple[tuple[Row, bool], ...]:
    """(row, about_gpus) for the judged rows that require no failure line, so that they can hold without a text to search."""
    return tuple((row, about_gpus) for row, about_gpus in matrix.once(_judged_rows) if not asks_for_lines(row))


def asks_for_lines(row: Row) -> bool:
    """True if the row needs a line of a log to hold."""
    return any(name.startswith("log") and not words.startswith("!") for name, words in row.when.items())


_MACHINE: list[tuple[Subject, Gpu | None]] = [(THE_MACHINE, None)]


def _gpus(snapshot: Snapshot) -> list[tuple[Subject, Gpu | None]]:
    """(subject, GPU) for each GPU to train on; an unknown GPU if no list of GPUs was read; none if the list is empty."""
    if not snapshot.gpus and not snapshot.gpus_listed:
        return [(THE_MACHINE, Gpu())]
    return list(training_gpus(snapshot))


def _judge_row(row: Row, snapshot: Snapshot, gpu: Gpu | None, logs: Logs) -> Judged | None:
    """The row judged against one subject; None if a condition is false."""
    evidence: list[Reading] = []
    missing: list[str] = []
    decided = 0
    for name, condition in row.when.items():
        if name.startswith("log"):
            continue
        if name == "kernel" and snapshot.value("wsl") is True:
            return None  # in WSL the Windows driver runs the GPU, and the Linux kernel knows nothing about it
        fact = named_fact(name, snapshot, gpu)
        coordinate = coord(name)
        truth = holds(coordinate.kind, condition, fact) if coordinate else None
        if truth is False:
            return None
        if truth:
            decided += 1
            evidence += fact_readings(fact, name)[:2]
        elif not (("log" in row.when or row.harmless) and excludes(condition)):
            missing.append(name)
    lines = matching_lines(row, logs)
    return None if lines is None else Judged(lines, tuple(evidence), tuple(missing), decided)


def matching_lines(row: Row, logs: Logs) -> tuple[Reading, ...] | None:
    """The lines that match the row's log conditions; None if one is missing, or a forbidden one occurs."""
    lines: list[Reading] = []
    for name, condition in row.when.items():
        if not name.startswith("log"):
            continue
        line = logs.find(condition.removeprefix("!"))
        if (line is None) != condition.startswith("!"):
            return None
        lines += [line] if line else []
    return tuple(lines)


def _confidence(row: Row, judged: Judged, calm: bool) -> Confidence:
    """The confidence: high only if facts of the machine decide; a line alone is medium if it has one common meaning, else low.

    `calm`: the text states that everything else works. Then a line alone makes a hypothesis, whatever it usually means.
    """
    if not judged.decided:
        return "low" if calm else _BY_PRIOR[row.prior]
    if judged.lines and (row.prior == "rare" or (row.grade == "field" and row.prior == "possible")):
        return "low"
    if row.prior == "rare" or (row.grade == "field" and judged.lines):
        return "medium"
    return "high"


def _rivals(candidates: Sequence[RankedFinding]) -> list[Finding]:
    """Of the findings that explain one line the strongest stays as it is; the others become hypotheses."""
    strongest: dict[Reading, RankedFinding] = {}
    ordered = sorted(candidates, key=_order)
    for candidate in ordered:
        if candidate.line:
            strongest.setdefault(candidate.line, candidate)
    return [
        candidate.finding if candidate.line is None or strongest[candidate.line] is candidate else lower(candidate.finding)
        for candidate in ordered
    ]


def _order(candidate: RankedFinding) -> tuple[int, int, int]:
    return (RANK[candidate.finding.severity], RANK[candidate.finding.confidence], -candidate.weight)
