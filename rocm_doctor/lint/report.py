"""What `lint` found as a report, and the table of environments that a terminal shows above it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from rocm_doctor._version import __version__
from rocm_doctor.lint.facts import make_snapshot
from rocm_doctor.lint.judge import Result
from rocm_doctor.lint.model import FAILS, PASSES, Problem, UnreadReason
from rocm_doctor.lint.readers import find_frameworks
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Report, Snapshot, Verdict
from rocm_doctor.reports.json import SCHEMA_VERSION

_VERDICTS: dict[str, Verdict] = {FAILS: "problems", PASSES: "ready"}
Shown = Callable[[str], str]
_WHOLE_FILES = (UnreadReason.SYNTAX, UnreadReason.SIZE, UnreadReason.DENIED, UnreadReason.TIME)
"""Why nothing of a file was read: shown without -v, too."""
_SHOWN = 40
"""Rows of the table that are shown without -v."""
_SHOWN_FILES = 8


def report(result: Result, matrix: Matrix, name: str, shown: Shown = str) -> Report:
    """The report of a repository. `shown`: a path of the repository, as it is named from the current folder."""
    findings = tuple(_finding(problem, matrix, shown) for problem in result.problems)
    facts = make_snapshot(None, None, result.targets[0], matrix) if result.targets else Snapshot()
    return Report(
        schema_version=SCHEMA_VERSION, tool_version=__version__, matrix_version=matrix.version,
        verdict=_VERDICTS.get(result.verdict, "undetermined"), summary=summary(result), findings=findings, undecided=(), snapshot=facts,
        source=f"repository {name}", kind="repository",
    )  # fmt: skip


def _finding(problem: Problem, matrix: Matrix, shown: Shown) -> Finding:
    diagnosis = matrix.diagnoses[problem.id]
    first = problem.places[0]
    decisive = "\n".join((problem.id, problem.row, first.file, first.quote))
    places = [msgspec.structs.replace(p, file=shown(p.file)).reading() for p in problem.places]
    target = [Reading("command line", "--gpu", ", ".join(problem.gpus), "target")] if problem.gpus else []
    return Finding(
        id=problem.id, title=problem.title, severity=problem.severity, confidence="high" if problem.is_literal else "medium", cause=problem.cause, row=problem.row,
        subject=shown(problem.environment.name) + (f" for {', '.join(problem.gpus)}" if problem.gpus else ""), subject_kind="environment",
        grade=problem.grade, evidence=(*places, *target), advice=" ".join(problem.hints), sources=problem.sources or diagnosis.sources,
        fingerprint=hashlib.sha256(decisive.encode()).hexdigest()[:16],
    )  # fmt: skip


def summary(result: Result) -> str:
    """The verdict in one line, with what was left out and not read."""
    counts = Counter(p.severity for p in result.problems)
    parts = [_count(counts[level], level) for level in ("error", "warning", "note") if counts[level]]
    targets = ", ".join(t.gpu for t in result.targets)
    head = f"{result.verdict}{f' for {targets}' if targets else ''}: {', '.join(parts) or 'no problem found'}"
    more = []
    if result.verdict not in (FAILS, PASSES):
        more.append(_explain_open(result))
    if result.accepted_count:
        more.append(f"{result.accepted_count} accepted")
    if result.others:
        more.append(f"{_count(result.others, 'environment')} for other hardware, or of tests, not judged")
    if result.unread:
        more.append(f"{_count(len(result.unread), 'place')} not read")
    return "; ".join([head, *more])


def _explain_open(result: Result) -> str:
    """Why nothing passes, where nothing fails."""
    if result.tree.is_late:
        return "the time for reading ran out"
    if result.decisive_unread:
        first = result.decisive_unread[0].place
        return f"{first.file}:{first.line} was not read and may change what runs"
    words = "no file here leads to code for the GPU as it is written"
    imports = find_frameworks(result.tree)
    if imports and "torch" not in imports:
        plan = f"rocm-doctor plan --gpu {result.targets[0].gpu if result.targets else 'GPU'} --with {','.join(imports)}"
        words += f"; {next(iter(imports.values())).file} imports {' and '.join(imports)}: `{plan}`"
    return words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def table(result: Result, shown: Shown, *, whole: bool) -> Iterator[str]:
    """The lines of a table: each environment for AMD GPUs, the GPUs that it names, and what was found for each target; below it what was met
    and not read. `whole`: all of both; else 40 environments, and the files of which nothing was read."""
    gpus = list(dict.fromkeys(gpu for row in result.rows for gpu in row.cells))
    rows = result.rows if whole else result.rows[:_SHOWN]
    body = [(shown(r.environment.name), ", ".join(r.claims) or "any", *(r.cells.get(g, "") for g in gpus)) for r in rows]
    cells = [("file", "for", *gpus), *body] if body else []
    widths = [min(60, max(len(line[n]) for line in cells)) for n in range(2 + len(gpus))] if cells else []
    yield from ("  ".join(cell[-60:].ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells)
    if len(result.rows) > len(rows):
        yield f"and {len(result.rows) - len(rows)} more (-v shows them)"
    if result.unread:
        counts = Counter(u.reason for u in result.unread)
        reasons = "; ".join(f"{reason.value} {counts[reason]}" for reason in UnreadReason if counts[reason])
        yield f"not read: {_count(len(result.unread), 'place')} ({reasons}){'' if whole else '; -v lists them'}"
    for part in result.unread if whole else [u for u in result.unread if u.reason in _WHOLE_FILES][:_SHOWN_FILES]:
        yield f"  {shown(part.place.file)}:{part.place.line}: {part.reason.value}{part.place.quote and f': {part.place.quote}'}"
