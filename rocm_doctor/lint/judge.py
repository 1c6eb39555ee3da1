"""From a repository and its targets to a report: each environment is judged for each target by the rows, the rules for machines and
those of `rules/repo.py`. What the repository accepts is left out; an acceptance that has run out or fits nothing is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from rocm_doctor._version import __version__
from rocm_doctor.commands import filled
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint import lent
from rocm_doctor.lint.advice import ON_TORCH, on_torch
from rocm_doctor.lint.certainty import is_fixed
from rocm_doctor.lint.coverage import brings_torch, left_out, meant_for, no_environment, why_not
from rocm_doctor.lint.declared import (
    OVERRIDE,
    ROCR,
    Environment,
    Place,
    ReadProblem,
    Repository,
    Target,
)
from rocm_doctor.lint.environments.purpose import ASIDE, is_hosted
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.facts import joined, snapshot_of
from rocm_doctor.lint.folding import accepted, by_cause, fits, of_one_environment
from rocm_doctor.lint.proof import doubts
from rocm_doctor.lint.readers.kinds import kind_of
from rocm_doctor.lint.readers.requirements import meant_by
from rocm_doctor.lint.remedies import in_files
from rocm_doctor.lint.rules.findings import of_file, subject
from rocm_doctor.lint.rules.own_python import inside
from rocm_doctor.lint.rules.table import BUILD_RULES, REPO_RULES
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.lint.stopped import behind
from rocm_doctor.lint.taken import is_taken
from rocm_doctor.lint.weighing import Judged, weighed
from rocm_doctor.lint.wheels import Names, by_version, published, said_of_wheels
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Gpu, Reading, Report, Row, Severity, Snapshot, Subject, Undecided, Verdict
from rocm_doctor.reports.json import SCHEMA_VERSION
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge, ranked
from rocm_doctor.rules.findings import finding, stamped
from rocm_doctor.rules.logs import Logs

Result = tuple[Snapshot, list[Finding], list[Undecided]]

# What a target can still declare; a judgement that lacks any other fact of a machine does not concern a repository.
_DECLARABLE = {"rocm.version": "--rocm", "driver.version": "--driver", "python.version": "--python"}
_KNOWN = frozenset((
    "platform", "rocm.version", "driver.version", "python.version", "torch.version", "torch.build", "torch.rocm",
    "torch.release", "rocm.loaded", "torch.family", "torch.expandable_segments", "gpu.gfx", "gpu.family", "gpu.wavefront_size", "gpu.is_apu",
))  # fmt: skip
# Judged by how many cards there are and who may open them, which no repository says; containers have a rule of their own.
_OF_MACHINES = ("access.", "platform.", "hw.")


def lint(
    repository: Repository,
    targets: Sequence[Target],
    matrix: Matrix,
    *,
    name: str,
    today: datetime.date,
    ignore: Sequence[str] = (),
    select: Sequence[str] = (),
) -> Report:
    """The report on a repository. `name` is how its source is called; `ignore` and `select` hold ids, rows or paths given on the
    command line.
    """
    _ = matrix.gfx, matrix.rocm, matrix.torch, matrix.support, matrix.by_kernel  # decoded once for all
    by_files = matrix.once(_by_files)
    bare = [by_files(frozenset()).once(_bare)(target) for target in targets]
    facts = [one[0] for one in bare]
    undecided = [u for one in bare for u in one[2]]
    judged: list[Judged] = []
    for target in targets:
        meant = list(meant_for(target, repository.environments, matrix))
        code = lent.code(meant, target, matrix)
        for environment in meant:
            there = inside(environment, target)
            snapshot, found, more = _judged(environment, there, by_files(published(environment, there)), code)
            facts.append(snapshot)
            undecided += more
            judged += [Judged(environment, target, said_of_wheels(f, matrix), f.id in _ALONE) for f in found]
    findings = [f for _, found, _ in bare for f in found] + by_cause(behind(weighed(judged, repository, matrix)))
    findings += no_environment(repository, targets, findings, matrix)
    findings += [_of_trouble(group, repository, targets, matrix) for group in _by_list(repository.problems)]
    kept, stale = accepted(findings, repository.policy, today, matrix)
    shown = ranked((f for f in (*kept, *stale) if _wanted(f, ignore, select)), matrix)
    verdict, summary = _verdict(shown, targets, repository, matrix)
    summary = "; ".join((summary, *left_out(repository, targets, matrix)))
    return Report(
        schema_version=SCHEMA_VERSION,
        tool_version=__version__,
        matrix_version=matrix.version,
        verdict=verdict,
        summary=summary,
        findings=tuple(shown),
        undecided=tuple({u.row or u.id: u for u in undecided}.values()),
        snapshot=joined(facts, targets, matrix),
        source=name,
        kind="repository",
    )


NOT_IN_BUILD = "arch.not-in-build"
# Findings that name what they are about: two of them are two, however alike their causes are.
_ALONE = frozenset(("access.container", "version.companion-mismatch", "version.wheel-missing"))


def _wanted(one: Finding, ignore: Sequence[str], select: Sequence[str]) -> bool:
    """True if a finding is asked for: each word is a diagnosis, a row, or a path or pattern of one of its places."""

    def hit(word: str) -> bool:
        return fits(word, "", one) or fits("", word, one)

    return not any(hit(word) for word in ignore) and (not select or any(hit(word) for word in select))


def _by_files(matrix: Matrix) -> Callable[[Names], Matrix]:
    """The matrix with the rows that files decide, by the packages that come as published wheels."""
    return lru_cache(64)(lambda names: matrix.with_rows(tuple(row for row in by_version(matrix, names) if _decidable(row))))


def _decidable(row: Row) -> bool:
    """A row that asks for a log line, or for what only a machine can say, is never decided by files: it is left out to save
    time.
    """
    return all(name in _KNOWN or name.startswith(("pkg.", "env.", "log.")) for name in row.when)


def _bare(matrix: Matrix) -> Callable[[Target], Result]:
    """What the rows say of a target alone, before any file."""
    return lru_cache(16)(lambda target: _of_target(target, matrix))


def _of_target(target: Target, matrix: Matrix) -> Result:
    environment = Environment(target.name, target.place or Place("command line", 0))
    facts = enrich(snapshot_of(environment, target, matrix), matrix)
    found, undecided = judge(facts, Logs(()), matrix, RULES)
    called = f"target {target.name if target.place else target.gpu}"
    return facts, [stamped(msgspec.structs.replace(f, subject=called, subject_kind="target")) for f in found], _lacking(undecided)


def _judged(environment: Environment, target: Target, matrix: Matrix, code: Fact | None = None) -> Result:
    facts, found, undecided = _found(environment, target, matrix, code)
    if not any(ON_TORCH in one.advice for one in found):
        return facts, found, undecided

    from rocm_doctor.lint.torch_advice import remedied  # most repositories need none

    return facts, remedied(found, environment, target, matrix, lambda other: _found(other, target, matrix, code)[1]), undecided


def _found(environment: Environment, target: Target, matrix: Matrix, code: Fact | None = None) -> Result:
    """What is found in an environment, without the advice on its torch."""
    facts = enrich(snapshot_of(environment, target, matrix), matrix)
    builds = is_hosted(environment)
    own = [f for rule in (BUILD_RULES if builds else REPO_RULES) for f in rule(environment, target, matrix)]
    speaks = environment.steps or environment.variables or environment.image
    more, undecided = judge(facts, Logs(()), matrix, RULES) if speaks else ([], [])
    more = lent.on_torch_of_others(more, environment, facts, code, matrix)
    more = lent.on_torch_of_image(more, environment, facts, target, matrix)
    ids = {f.id for f in own}
    if any(p.about == "rocblas" for p in environment.unresolved):
        ids.add("arch.blas-missing")
    here = [f for f in more if not f.id.startswith(_OF_MACHINES) and any(map(of_file, f.evidence))]
    base = environment.image.place.reading() if environment.image else None
    if all(f.severity == "note" or base in f.evidence for f in own if f.id == NOT_IN_BUILD):
        ids.discard(NOT_IN_BUILD)  # what is built, or would be, and the torch that is installed beside it, are two
    placed = [_placed(f, environment, target, facts, matrix) for f in here if f.id not in ids]
    if builds:
        # What is built there is for that torch: its user finds out on the GPU.
        placed = [
            msgspec.structs.replace(f, severity="warning") if f.severity == "error" else f
            for f in placed
            if f.id.startswith("arch.")
        ]
    found = of_one_environment(own) + placed
    found += _hidden(environment, target, matrix, found)
    if any(p.about not in ("before", "start") for p in environment.unresolved):
        found = [f if is_fixed(f, environment) else _less_sure(f) for f in found]
    return facts, found, _lacking(undecided)


def _hidden(environment: Environment, target: Target, matrix: Matrix, found: Sequence[Finding]) -> list[Finding]:
    """What is left when the advice on an override, or on a variable that hides every GPU, is followed: code that the build lacks, which
    either kept from being seen.
    """
    ids = {f.id for f in found}
    names = {OVERRIDE} if {"arch.override-wrong", "arch.override-needed"} & ids else set[str]()
    names |= {ROCR} if "access.visible-devices" in ids else set()
    without = tuple(s for s in environment.variables if s.name not in names)
    if without == environment.variables:
        return []
    _, left, _ = _found(msgspec.structs.replace(environment, variables=without), target, matrix)
    return [f for f in left if f.id.startswith("arch.") and f.id not in ids and f.severity != "note"]


def _less_sure(one: Finding) -> Finding:
    return msgspec.structs.replace(one, confidence="medium") if one.confidence == "high" else one


def _lacking(undecided: Sequence[Undecided]) -> list[Undecided]:
    """What a fuller target would decide."""
    return [msgspec.structs.replace(u, hint=_hint(u)) for u in undecided if set(u.missing) <= _DECLARABLE.keys()]


def _hint(one: Undecided) -> str:
    return f"declare {', '.join(_DECLARABLE[name] for name in one.missing)} or the same keys of the target"


def _placed(one: Finding, environment: Environment, target: Target, facts: Snapshot, matrix: Matrix) -> Finding:
    """A finding of the rules for machines: what the repository says comes first, the target last. Another torch is asked for
    where the repository does.
    """
    evidence = sorted(one.evidence, key=lambda r: (not of_file(r), r.origin != "matrix"))
    asks = one.id.startswith("arch.") and any("install" in c.text and "torch" in c.text for c in one.commands)
    asks = asks or (one.id == NOT_IN_BUILD and one.title.startswith("torch ") and not one.commands)
    if asks and (state := last_state(environment, matrix, target)):
        plan = matrix.typed(filled("rocm-doctor plan --gpu {gfx}", gfx=target.gpu))
        advice = on_torch(environment, target, matrix, state[0], state[2])
        one = msgspec.structs.replace(one, commands=plan, advice=advice)
    return in_files(
        stamped(
            msgspec.structs.replace(
                one, evidence=tuple(evidence), subject=subject(environment, target).name, subject_kind="environment"
            )
        ),
        environment,
        facts,
        matrix,
    )


def _by_list(problems: Sequence[ReadProblem]) -> list[list[ReadProblem]]:
    """The problems, those lines together that pip refuses in one list."""
    groups: dict[object, list[ReadProblem]] = {}
    for one in problems:
        groups.setdefault(one.place.file if one.about in ("refused", "line") else one, []).append(one)
    return list(groups.values())


def _of_trouble(group: Sequence[ReadProblem], repository: Repository, targets: Sequence[Target], matrix: Matrix) -> Finding:
    group = sorted(group, key=lambda p: p.about != "line")
    trouble = group[0]
    there = [e for e in repository.environments if e.place.file == trouble.place.file]
    left = bool(there and targets) and all(why_not(e, t, matrix) for e in there for t in targets)
    aside = (
        left
        or kind_of(trouble.place.file) in ("config", "deepspeed", "tomlconfig")
        or set(trouble.place.file.lower().split("/")[:-1]) & ASIDE
    )
    severity: Severity = "note" if trouble.about in ("refused", "line", "hint") or aside else "warning"
    if not there and named(trouble.place.file.rsplit("/", 1)[-1])[0] not in ("neutral", "amd"):
        severity = "note"
    if not left and not aside and trouble.about in ("line", "list") and is_taken(trouble.place.file, repository):
        severity = "error"  # pip installs nothing of such a list
    at = [Reading(p.place.file, f"line {max(1, p.place.line)}", p.place.quote) for p in group]
    advice = _mending(trouble) if severity == "error" else matrix.diagnoses["repo.unreadable"].advice
    return finding(matrix, "repo.unreadable", evidence=at, severity=severity, title=trouble.message, advice=advice,
                   subject=Subject(f"{trouble.place.file}:{trouble.place.line}", "file"))  # fmt: skip


def _mending(trouble: ReadProblem) -> str:
    """What to do about a line for which pip installs nothing of its list."""
    if trouble.about == "list":
        return (
            f"Add that list, or take {trouble.place.words} out: pip installs nothing of a list that includes what is not there."
        )
    meant = meant_by(trouble.place.quote)
    return f"Write {meant or 'one requirement'} on {trouble.place.words}, or a # before it: pip installs nothing of a list with such a line."


def _of_gpus(one: Environment, targets: Sequence[Target], matrix: Matrix) -> bool:
    """True if an environment says anything of the GPU stack, so that finding no problem in it says something."""
    return one.purpose.kind == "amd" or brings_torch(one, targets, matrix)


def _verdict(
    findings: Sequence[Finding], targets: Sequence[Target], repository: Repository, matrix: Matrix
) -> tuple[Verdict, str]:
    serious = [f for f in findings if f.severity != "note" and not f.follows_from]
    unread = [f for f in serious if f.id == "repo.unreadable"]
    if unread and all(f.severity != "error" for f in serious):
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        return "undetermined", f"{unread[0].subject}: {unread[0].title}{more}"
    if serious:
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return "problems", serious[0].title + more
    named = ", ".join(t.gpu or t.name for t in targets)
    if not repository.environments:
        return "undetermined", f"no file that declares a stack was found among {repository.files} that were read"
    judged = [e for e in repository.environments if not all(why_not(e, t, matrix) for t in targets)]
    if not judged:
        return "undetermined", f"no environment for {named} among {len(repository.environments)}"
    count = f"{len(judged)} declared environment{'s' if len(judged) > 1 else ''} (Python code is not read)"
    if not any(_of_gpus(e, targets, matrix) for e in judged):
        return "undetermined", f"no torch and nothing for AMD GPUs in {count}"
    for target in targets:
        meant = list(meant_for(target, repository.environments, matrix))
        if doubt := next(doubts(repository, meant, target, findings, matrix), ""):
            return "undetermined", f"no problem found for {target.gpu} in {count}, but {doubt}"
    return "ready", f"no problem found for {named} in {count}"


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
