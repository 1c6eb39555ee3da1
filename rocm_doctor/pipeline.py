"""The whole line: artifacts to snapshot to report. Every command that judges anything calls `judge`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor._version import __version__
from rocm_doctor.bounded import Unreadable
from rocm_doctor.cures.choose import attach_cures
from rocm_doctor.cures.offer import offer_commands, speaks_of_python
from rocm_doctor.cures.solved import near_reports
from rocm_doctor.cures.stated import drop_foreign_commands
from rocm_doctor.facts import merge as snapshot
from rocm_doctor.facts.enrich import enrich, gpu_names, programs
from rocm_doctor.facts.origin import Files, name_files
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import (
    Artifact,
    Finding,
    Reading,
    Report,
    ReportKind,
    Similar,
    Snapshot,
    Undecided,
    Verdict,
)
from rocm_doctor.probes import PROBES
from rocm_doctor.probes.read.limits import apply_limits
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.reports.json import SCHEMA_VERSION
from rocm_doctor.reports.json import read as read_report
from rocm_doctor.rules import RULES
from rocm_doctor.rules.checks import checks
from rocm_doctor.rules.engine import failure_lines, is_nvidia
from rocm_doctor.rules.engine import judge as judge_rows
from rocm_doctor.rules.logs import Logs, readable_logs
from rocm_doctor.rules.questions import questions
from rocm_doctor.rules.ranking import free_followers, rank
from rocm_doctor.rules.verdict import missing_facts, verdict
from rocm_doctor.smoke.summary import lacks_machine

if TYPE_CHECKING:
    from rocm_doctor.differential import Differential
    from rocm_doctor.sources.declared import DeclaredMachine

Named = tuple[str, list[Artifact]]
"""What was handed over under one name."""


def read_paths(paths: Sequence[Path], logs: Sequence[Path] = ()) -> list[Artifact]:
    """Artifacts of captured files, folders and archives, and of failing logs handed over beside them. Raises
    sources.bundle.BundleError for a path that cannot be read."""
    from rocm_doctor.sources.bundle import read

    found = [artifact for path in paths for artifact in read(path)]
    return found + [artifact for path in logs for artifact in as_log(path)]


def machines(captures: Sequence[Named]) -> list[Named]:
    """The captures of each machine as one: (names, artifacts). A whole capture is a machine; single outputs and logs are parts of the only
    one, else of one machine together."""
    whole = [capture for capture in captures if _is_whole_machine(capture[1])]
    parts = [capture for capture in captures if not _is_whole_machine(capture[1])]
    groups = [[*whole, *parts]] if len(whole) < 2 else [*([one] for one in whole), *filter(None, [parts])]
    return [(", ".join(name for name, _ in group), [a for _, artifacts in group for a in artifacts]) for group in groups]


def _is_whole_machine(artifacts: Sequence[Artifact]) -> bool:
    """True if this is a capture of a whole machine: a bundle or a report, not one tool's output or a log."""
    return any(a.name.startswith(("sys/", "report/", "py/")) for a in artifacts)


def as_log(path: Path) -> list[Artifact]:
    """A failing log: one artifact under `log/`, whole, beside the tool output in it."""
    from rocm_doctor.sources.bundle import read

    parts = read(path)
    return [Artifact("log/" + path.name, a.origin, a.text) if a.name == "paste/text" else a for a in parts]


def read_facts(artifacts: Iterable[Artifact], matrix: Matrix) -> Snapshot:
    """Run every probe over the artifacts. A probe that breaks is an error in the snapshot and never a pass."""
    read, errors = apply_limits(artifacts)
    have = Artifacts(read, lambda: gpu_names(matrix), lambda: programs(matrix))
    asked = [(name, partial(run_probe_module, name, have)) for name, reads in PROBES if have.mention(*reads)]
    facts = snapshot.build(starmap(_run_probe, asked))
    return msgspec.structs.replace(facts, errors=(*facts.errors, *errors)) if errors else facts


def run_probe_module(name: str, artifacts: Artifacts) -> ProbeResult:
    """What the probe of this name in rocm_doctor.probes reads from the artifacts."""
    notes: ProbeResult = importlib.import_module(f"rocm_doctor.probes.{name}").probe(artifacts)
    return notes


def _run_probe(name: str, probe: Callable[[], ProbeResult]) -> ProbeResult:
    try:
        return probe()
    except Exception as exc:
        notes = ProbeResult()
        notes.fail(
            f"probe {name.rpartition('.')[2]}",
            f"crashed: {type(exc).__name__}: {exc}; please report this with the input",
            origin="probe",
        )
        return notes


def judge(
    artifacts: Sequence[Artifact],
    matrix: Matrix,
    *,
    source: str = "this machine",
    kind: ReportKind = "machine",
    ignore: Sequence[str] = (),
) -> Report:
    """The report on these artifacts. `source` names what they are, `kind` what they came from; `ignore` holds diagnosis ids, row keys, or `ID:row`."""
    held = [drop_foreign_commands(report, matrix) for report in _earlier_reports(artifacts)]
    if len(held) == len(artifacts) == 1:
        return _repeat(held[0], source, ignore)
    facts = enrich(read_facts(artifacts, matrix), matrix)
    logs = Logs(readable_logs(artifacts), failure_lines(matrix))
    findings, undecided = judge_rows(facts, logs, matrix, RULES)
    # An earlier report was weighed when it was made.
    read = None if held or is_nvidia(facts, logs) else _differential(artifacts, matrix)
    likely, near = (read.likely, read.near) if read else ((), ())
    findings = attach_cures(_add_earlier(findings, held, matrix), facts, logs, matrix, kind)
    python = kind != "capture" or speaks_of_python(facts, logs, matrix)
    findings = offer_commands(findings, facts, kind, matrix, python=python)
    roots = [f for f in findings if f.severity != "note" and not f.follows_from]
    word, summary, proven = verdict(facts, findings, matrix, pasted=any(a.name == "paste/text" for a in artifacts))
    settled = word == "ready" or bool(roots and roots[0].confidence != "low")
    report = Report(
        schema_version=SCHEMA_VERSION,
        tool_version=__version__,
        matrix_version=matrix.version,
        verdict=word,
        summary=summary,
        findings=tuple(findings),
        questions=()
        if settled or kind == "environment" or lacks_machine(facts)
        else questions(
            facts,
            findings,
            undecided,
            [fact.fact for fact in missing_facts(facts, matrix) if fact.fact],
            matrix,
            [one.id for one in likely],
            python=python,
        ),
        undecided=tuple(undecided),
        snapshot=facts,
        source=source,
        kind=kind,
        host=_host(facts),
        proven=proven,
        disputes=tuple(_disputes(facts, Files(artifacts))),
        checks=checks(facts, findings, matrix),
        differential=likely,
        solved=near_reports(near, findings, likely, facts, matrix),
    )
    return drop_ignored(name_files(report, artifacts), ignore)


def judge_environment(
    environment: Sequence[Artifact],
    target: DeclaredMachine,
    matrix: Matrix,
    *,
    source: str = "this environment",
    ignore: Sequence[str] = (),
) -> Report:
    """The report on an environment (`sources.declared.collect_environment`) for a declared target in place of the machine's GPU."""
    from rocm_doctor.sources.declared import target_artifact

    named = f"{source} for {target.gpu}"
    return judge([target_artifact(target), *environment], matrix, source=named, kind="environment", ignore=ignore)


def judge_packages(
    packages: Mapping[str, str],
    target: DeclaredMachine,
    matrix: Matrix,
    *,
    python: str = "",
    source: str = "these packages",
    ignore: Sequence[str] = (),
) -> Report:
    """The report on a set of packages, as if they were installed, for a declared target: what a resolver answered.

    packages: versions by name, with the local part that the wheel has (2.9.1+rocm6.4). A torch without one is the CUDA build where
    CUDA's own packages come with it; else its build is not known, and the verdict is undetermined.
    """
    from rocm_doctor.sources.declared import package_list

    return judge_environment(package_list(packages, python), target, matrix, source=source, ignore=ignore)


def find_solved(artifacts: Sequence[Artifact], matrix: Matrix) -> tuple[Similar, ...]:
    """Solved reports that read like this text, the nearest first; none where it is not a complaint."""
    read = _differential(artifacts, matrix)
    return read.near if read else ()


def _differential(artifacts: Sequence[Artifact], matrix: Matrix) -> Differential | None:
    """What a text reads like, where one is at hand: a machine without one never loads the weights."""
    if not any(a.name.startswith(("paste/text", "log/")) for a in artifacts):
        return None
    from rocm_doctor.differential import differential

    return differential(artifacts, matrix)


def _earlier_reports(artifacts: Sequence[Artifact]) -> list[Report]:
    """The reports among the artifacts: what rocm-doctor said of this machine before."""
    found = []
    for artifact in artifacts:
        if artifact.name.startswith("report/") and not artifact.missing:
            with contextlib.suppress(Unreadable):  # its probe says why
                found.append(read_report(artifact.text.encode(errors="replace")))
    return found


def _repeat(report: Report, source: str, ignore: Sequence[str]) -> Report:
    """A report that was handed over alone, as it was."""
    return drop_ignored(msgspec.structs.replace(report, source=report.source if report.kind == "repository" else source), ignore)


def _add_earlier(findings: list[Finding], held: Sequence[Report], matrix: Matrix) -> list[Finding]:
    """The findings with those of earlier reports, whose logs are not here to be judged again."""
    known = {(f.id, f.row, f.subject) for f in findings}
    more = [f for report in held for f in report.findings if (f.id, f.row, f.subject) not in known]
    return rank([*findings, *(msgspec.structs.replace(f, follows_from="") for f in more)], matrix) if more else findings


def accept_findings(report: Report, accepted: Sequence[Finding]) -> Report:
    """The report without these findings. What is accepted does not make a machine ready: with nothing else it is undetermined. What
    followed from an accepted finding alone is shown as a root cause. A verdict never rests on a note, and stays without it."""
    left = tuple(free_followers(f for f in report.findings if f not in accepted))
    if all(f.severity == "note" for f in accepted):
        return msgspec.structs.replace(report, findings=left)
    names = ", ".join(dict.fromkeys(f.id for f in accepted))
    new = next((f.title for f in left if f.severity != "note"), None)
    word: Verdict = "problems" if new else "undetermined" if report.verdict == "problems" else report.verdict
    return msgspec.structs.replace(report, findings=left, verdict=word, summary=f"{new or 'nothing new'}; accepted: {names}")


def drop_ignored(report: Report, ignore: Sequence[str]) -> Report:
    """The report without the findings and the undecided judgements whose id, row key or `ID:row` is ignored."""

    def is_ignored(judgement: Finding | Undecided) -> bool:
        return not {judgement.id, judgement.row, f"{judgement.id}:{judgement.row}"}.isdisjoint(ignore)

    undecided = tuple(itertools.filterfalse(is_ignored, report.undecided))
    return accept_findings(msgspec.structs.replace(report, undecided=undecided), list(filter(is_ignored, report.findings)))


def _host(facts: Snapshot) -> str:
    name, number = facts.value("host.hostname"), facts.value("host.id")
    return name if isinstance(name, str) else f"host-{number}" if isinstance(number, str) else ""


def _disputes(facts: Snapshot, files: Files) -> Iterable[str]:
    """Each fact on which two sources differ, with both sides."""
    named = [*facts.facts.items(), *((f"gpus[{n}].{k}", f) for n, g in enumerate(facts.gpus) for k, f in g.facts.items())]
    for name, fact in named:
        if fact.disputed:
            yield f"{name}: {_where(files.readings(fact.readings))}, taken over {_where(files.readings(fact.disputed))}"


def _where(readings: Sequence[Reading]) -> str:
    return ", ".join(dict.fromkeys(f"{r.artifact} {r.place}: {r.quote[:80]}".strip() for r in readings[:2]))
