"""From a repository and its targets to a report: each unit is judged for each target by the rows, the rules for machines and
those of `rules/repo.py`. What the repository accepts is left out; an acceptance that has run out or fits nothing is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from functools import cache, partial

import msgspec

from rocm_doctor._version import __version__
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint.declared import Place, ReadProblem, Repository, Target, Unit
from rocm_doctor.lint.facts import joined, snapshot_of
from rocm_doctor.lint.folding import accepted, folded, once, weighed, words_of
from rocm_doctor.lint.remedies import in_files
from rocm_doctor.lint.rules import REPO_RULES
from rocm_doctor.lint.rules.findings import of_file, subject
from rocm_doctor.lint.wheels import Names, by_version, published, said_of_wheels
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Gpu, Reading, Report, Row, Severity, Snapshot, Subject, Undecided, Verdict
from rocm_doctor.pipeline import SCHEMA_VERSION, ignored
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge, ranked
from rocm_doctor.rules.findings import finding, stamped
from rocm_doctor.rules.logs import Logs

Judged = tuple[Snapshot, list[Finding], list[Undecided]]

# Words in a file's name which say that it is meant for other hardware than a ROCm GPU.
_OTHER_HARDWARE = frozenset((
    "cuda", "nvidia", "cpu", "mac", "macos", "metal", "mps", "xpu", "npu", "ascend", "intel", "tpu", "cu118", "cu121", "cu124",
    "cu126", "cu128",
))  # fmt: skip
# What a target can still declare; a judgement that lacks anything else of a machine is no business of a repository.
_DECLARABLE = {"rocm.version": "--rocm", "driver.version": "--driver", "python.version": "--python"}
_KNOWN = frozenset((
    "platform", "rocm.version", "driver.version", "python.version", "torch.version", "torch.build", "torch.rocm",
    "torch.release", "rocm.loaded", "torch.family", "torch.expandable_segments", "gpu.gfx", "gpu.family", "gpu.wavefront_size", "gpu.is_apu",
))  # fmt: skip
# Judged by how many cards there are and who may open them, which no repository says; containers have a rule of their own.
_OF_MACHINES = ("access.", "platform.", "hw.")
_SOFT = ("not UTF-8", "no requirement", "unknown key")


def lint(
    repository: Repository,
    targets: Sequence[Target],
    matrix: Matrix,
    *,
    name: str,
    today: datetime.date,
    ignore: Sequence[str] = (),
) -> Report:
    """The report on a repository. `name` is how its source is called; `ignore` holds ids or rows given on the command line."""
    by_files = cache(partial(_rows, matrix))
    judged = [_bare(target, by_files(frozenset())) for target in targets]
    judged += [
        _judged(unit, target, by_files(published(unit, target)), repository.units)
        for target in targets
        for unit in _for(target, repository.units)
    ]
    findings = once(said_of_wheels(f, matrix) for _, found, _ in judged for f in found)
    findings += [_of_trouble(t, matrix) for t in repository.problems]
    kept, stale = accepted(findings, repository.policy, today, matrix)
    shown = ranked((f for f in (*kept, *stale) if not ignored(f, ignore)), matrix)
    verdict, summary = _verdict(shown, targets, repository)
    return Report(
        schema_version=SCHEMA_VERSION,
        tool_version=__version__,
        matrix_version=matrix.version,
        verdict=verdict,
        summary=summary,
        findings=tuple(shown),
        undecided=tuple({u.row or u.id: u for _, _, more in judged for u in more}.values()),
        snapshot=joined([snapshot for snapshot, _, _ in judged], targets, matrix),
        source=name,
        kind="repository",
    )


def _rows(matrix: Matrix, names: Names) -> Matrix:
    """The matrix with the rows that files decide, where these packages come as published wheels."""
    return msgspec.structs.replace(matrix, rows=tuple(row for row in by_version(matrix, names) if _decidable(row)))


def _decidable(row: Row) -> bool:
    """A row that asks for a log line, or for what only a machine can say, is never decided by files: it is left out to save
    time.
    """
    return all(name in _KNOWN or name.startswith(("pkg.", "env.", "log.")) for name in row.when)


def _bare(target: Target, matrix: Matrix) -> Judged:
    """What the rows say of the target alone, before any file."""
    unit = Unit(target.name, target.place or Place("command line", 0))
    facts = enrich(snapshot_of(unit, target, matrix), matrix)
    found, undecided = judge(facts, Logs(()), matrix, RULES)
    called = f"target {target.name if target.place else target.gpu}"
    return facts, [stamped(msgspec.structs.replace(f, subject=called, subject_kind="target")) for f in found], _lacking(undecided)


def _for(target: Target, units: Sequence[Unit]) -> Iterator[Unit]:
    """The units that are meant for the target: not those that are named for other hardware or run on another system."""
    for unit in units:
        if not words_of(unit.name) & _OTHER_HARDWARE and (not unit.os or unit.os == target.os):
            yield unit


def _judged(unit: Unit, target: Target, matrix: Matrix, units: Sequence[Unit]) -> Judged:
    facts = enrich(snapshot_of(unit, target, matrix), matrix)
    own = [f for rule in REPO_RULES for f in rule(unit, target, matrix)]
    speaks = unit.steps or unit.env or unit.image
    more, undecided = judge(facts, Logs(()), matrix, RULES) if speaks else ([], [])
    ids = {f.id for f in own}
    here = [f for f in more if f.id not in ids and not f.id.startswith(_OF_MACHINES) and any(map(of_file, f.evidence))]
    found = folded(own) + [_placed(f, unit, target) for f in here]
    return facts, [weighed(f, unit, units) for f in found], _lacking(undecided)


def _lacking(undecided: Sequence[Undecided]) -> list[Undecided]:
    """What a fuller target would decide."""
    return [msgspec.structs.replace(u, hint=_hint(u)) for u in undecided if set(u.missing) <= _DECLARABLE.keys()]


def _hint(one: Undecided) -> str:
    return f"declare {', '.join(_DECLARABLE[name] for name in one.missing)} or the same keys of the target"


def _placed(one: Finding, unit: Unit, target: Target) -> Finding:
    """A finding of the rules for machines: what stands in the repository comes first, the target last."""
    evidence = sorted(one.evidence, key=lambda r: (not of_file(r), r.origin != "matrix"))
    return in_files(
        stamped(
            msgspec.structs.replace(one, evidence=tuple(evidence), subject=subject(unit, target).name, subject_kind="environment")
        ),
        unit,
    )


def _of_trouble(trouble: ReadProblem, matrix: Matrix) -> Finding:
    severity: Severity = "note" if trouble.message.startswith(_SOFT) else "warning"
    at = Reading(trouble.place.file, f"line {max(1, trouble.place.line)}", trouble.place.quote)
    return finding(matrix, "repo.unreadable", evidence=[at], severity=severity, title=trouble.message,
                   subject=Subject(f"{trouble.place.file}:{trouble.place.line}", "file"))  # fmt: skip


def _verdict(findings: Sequence[Finding], targets: Sequence[Target], repository: Repository) -> tuple[Verdict, str]:
    serious = [f for f in findings if f.severity != "note" and not f.follows_from]
    unread = [f for f in serious if f.id == "repo.unreadable"]
    if unread and all(f.severity != "error" for f in serious):
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        return "undetermined", f"{unread[0].subject}: {unread[0].title}{more}"
    if serious:
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return "problems", serious[0].title + more
    named = ", ".join(t.gpu or t.name for t in targets)
    if not repository.units:
        return "undetermined", f"no file that declares a stack was found among {repository.files} that were looked at"
    count = len(repository.units)
    many = "s" if count > 1 else ""
    return "ready", f"nothing stands against {named} in {count} declared environment{many} (Python code is not read)"


def rebased(report: Report, prefix: str) -> Report:
    """The report with the files of the repository named from another folder (`prefix` ends in `/`)."""

    def move(r: Reading) -> Reading:
        ours = r.place.startswith("line ") and r.artifact not in ("matrix", "command line")
        return msgspec.structs.replace(r, artifact=prefix + r.artifact) if ours else r

    def fact(f: Fact) -> Fact:
        return Fact(f.value, tuple(map(move, f.readings)), tuple(map(move, f.disputed)))

    facts = {k: fact(f) for k, f in report.snapshot.facts.items()}
    gpus = tuple(Gpu({k: fact(f) for k, f in g.facts.items()}) for g in report.snapshot.gpus)
    found = tuple(msgspec.structs.replace(f, evidence=tuple(map(move, f.evidence))) for f in report.findings)
    return msgspec.structs.replace(
        report, findings=found, snapshot=msgspec.structs.replace(report.snapshot, facts=facts, gpus=gpus)
    )
