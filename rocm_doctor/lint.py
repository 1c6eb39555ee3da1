"""From a repository and its targets to a report: each unit is judged for each target by the rows, the rules of a machine and those of
`rules/repo.py`; what the repository accepts is left out, and an acceptance that has run out or fits nothing is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from rocm_doctor import __version__
from rocm_doctor.catalogue import enrich
from rocm_doctor.declared import Ignore, Place, Policy, Repository, Requirement, Target, Trouble, Unit
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Gpu, Reading, Report, Row, Severity, Snapshot, Undecided, Unknown, Verdict
from rocm_doctor.pipeline import SCHEMA_VERSION
from rocm_doctor.probes.notes import agree
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge, ranked
from rocm_doctor.rules.findings import finding, stamped
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.repo import REPO_RULES
from rocm_doctor.rules.repo_index import Torch, applies, pinned, said
from rocm_doctor.rules.repo_torch import image_facts, states
from rocm_doctor.rules.repo_words import subject, target_reading

# Words in a file's name which say that it is meant for other hardware than a ROCm GPU.
_OTHER_HARDWARE = frozenset(
    (
        "cuda",
        "nvidia",
        "cpu",
        "mac",
        "macos",
        "metal",
        "mps",
        "xpu",
        "npu",
        "ascend",
        "intel",
        "tpu",
        "cu118",
        "cu121",
        "cu124",
        "cu126",
        "cu128",
    )
)
_OURS = frozenset(("rocm", "amd", "hip", "amdgpu"))
# What a target can still declare; a judgement that lacks anything else of a machine is no business of a repository.
_DECLARABLE = {"rocm.version": "--rocm", "driver.version": "--driver", "python.version": "--python"}


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
    pairs = [(unit, target) for target in targets for unit in _for(target, repository.units)]
    rows = msgspec.structs.replace(matrix, rows=tuple(row for row in matrix.rows if _decidable(row)))
    judged = [_bare(target, rows) for target in targets] + [
        _judged(unit, target, rows, repository.units) for unit, target in pairs
    ]
    findings = _once(f for _, found, _ in judged for f in found) + [_of_trouble(t, matrix) for t in repository.troubles]
    kept, stale = _accepted(findings, repository.policy, today, matrix)
    shown = ranked((f for f in (*kept, *stale) if not {f.id, f.row, f"{f.id}:{f.row}"} & set(ignore)), matrix)
    verdict, summary = _verdict(shown, targets, repository)
    return Report(
        SCHEMA_VERSION, __version__, matrix.version, verdict, summary, tuple(shown),
        tuple({u.row or u.id: u for _, _, more in judged for u in more}.values()), _joined([s for s, _, _ in judged], targets, matrix), source=name,
    )  # fmt: skip


_KNOWN = ("platform", "rocm.version", "driver.version", "python.version", "torch.version", "torch.build", "torch.rocm", "gpu.gfx",
          "gpu.family", "gpu.wavefront_size", "gpu.is_apu")  # fmt: skip


# Judged by how many cards there are and who may open them, which no repository says (what it says of containers is judged by its own rule).
_OF_MACHINES = ("access.", "platform.", "hw.")


def _decidable(row: Row) -> bool:
    """A row that asks for a log line or for what only a machine can say is never decided by files: leaving it out here saves most of the time."""
    return all(name in _KNOWN or name.startswith(("pkg.", "env.", "log.")) for name in row.when)


def _bare(target: Target, matrix: Matrix) -> tuple[Snapshot, list[Finding], list[Undecided]]:
    """What the rows say of the target alone, before any file."""
    unit = Unit(target.name, target.place or Place("command line", 0))
    facts = enrich(snapshot_of(unit, target, matrix), matrix)
    found, undecided = judge(facts, Logs(()), matrix, RULES)
    lacking = [msgspec.structs.replace(u, hint=_hint(u)) for u in undecided if set(u.missing) <= _DECLARABLE.keys()]
    return facts, [stamped(msgspec.structs.replace(f, subject=f"target {target.name if target.place else target.gpu}")) for f in found], lacking


def _for(target: Target, units: Sequence[Unit]) -> Iterator[Unit]:
    """The units that are meant for the target: not those that are named for other hardware or run on another system."""
    for unit in units:
        if not words_of(unit.name) & _OTHER_HARDWARE and (not unit.os or unit.os == target.os):
            yield unit


def words_of(name: str) -> set[str]:
    """The words of a file's name: `requirements-cu121.txt` is requirements, cu121, txt."""
    return set("".join(c if c.isalnum() else " " for c in name.lower()).split())


def _judged(unit: Unit, target: Target, matrix: Matrix, units: Sequence[Unit]) -> tuple[Snapshot, list[Finding], list[Undecided]]:
    facts = enrich(snapshot_of(unit, target, matrix), matrix)
    own = [f for rule in REPO_RULES for f in rule(unit, target, matrix)]
    speaks = unit.steps or unit.env or unit.image
    more, undecided = judge(facts, Logs(()), matrix, RULES) if speaks else ([], [])
    ids = {f.id for f in own}
    of_target = target_reading(target)
    here = [f for f in more if f.id not in ids and any(r not in of_target and r.artifact != "matrix" for r in f.evidence)]
    here = [f for f in here if not f.id.startswith(_OF_MACHINES)]
    found = _folded(own) + [_placed(f, unit, target) for f in here]
    lacking = [msgspec.structs.replace(u, hint=_hint(u)) for u in undecided if set(u.missing) <= _DECLARABLE.keys()]
    return facts, [_weighed(f, unit, units) for f in found], lacking


def _folded(findings: Iterable[Finding]) -> list[Finding]:
    """What is said twice of one unit (4-bit, and the 8-bit optimizer, want the same library) as one finding with both lines."""
    kept: dict[tuple[str, str, str], Finding] = {}
    for one in findings:
        key = (one.id, one.severity, one.subject)
        first = kept.get(key)
        joined = tuple(dict.fromkeys((*first.evidence, *one.evidence))) if first else one.evidence
        kept[key] = msgspec.structs.replace(
            first or one, evidence=tuple(sorted(joined, key=lambda r: r.artifact == "command line"))
        )
    return list(kept.values())


# Severity of what a hosted runner installs: it has no GPU, and a job on it is a test, not the training.
_JOB = " job "


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """One line that several environments install is one finding; notes of one kind are one, with the places of all."""
    kept: dict[tuple[object, ...], Finding] = {}
    for one in findings:
        target = one.evidence[-1:]
        key = (one.id, one.row, target) if one.severity == "note" else (one.id, one.row, one.title, target, one.evidence[:1])
        first = kept.setdefault(key, one)
        if first is not one and one.severity == "note":
            evidence = tuple(dict.fromkeys((*first.evidence, *one.evidence)))
            kept[key] = msgspec.structs.replace(first, evidence=(*_repository_first(evidence)[:_MOST_PLACES], *target))
    return list(kept.values())


_MOST_PLACES = 25


def _repository_first(evidence: Iterable[Reading]) -> tuple[Reading, ...]:
    return tuple(r for r in evidence if r.place.startswith("line ") and r.artifact != "matrix" and not r.quote.startswith("target "))


def _hint(one: Undecided) -> str:
    return f"declare {', '.join(_DECLARABLE[name] for name in one.missing)} or the same keys of the target"


def _weighed(one: Finding, unit: Unit, units: Sequence[Unit]) -> Finding:
    """A general file beside one that is named for ROCm (requirements.txt beside requirements-rocm.txt) only gets notes on its torch."""
    if _JOB in unit.name and unit.os and one.severity != "note":
        return stamped(msgspec.structs.replace(one, severity="note"))
    beside = unit.name.count("/") == 0 and any(
        words_of(u.name) & _OURS and _kind(u) == _kind(unit) for u in units if u is not unit
    )
    if beside and one.id == "version.torch-not-rocm" and not words_of(unit.name) & _OURS:
        return stamped(msgspec.structs.replace(one, severity="note"))
    return one


def _kind(unit: Unit) -> str:
    return "dockerfile" if "dockerfile" in unit.name.lower() else unit.name.rsplit(".", 1)[-1]


def _placed(one: Finding, unit: Unit, target: Target) -> Finding:
    """A finding of the rules for machines: what stands in the repository comes first, the target last."""
    where = target.place.file if target.place else "command line"
    evidence = sorted(one.evidence, key=lambda r: (r.artifact == "matrix") + 2 * (r.artifact == where))
    return stamped(msgspec.structs.replace(one, evidence=tuple(evidence), subject=subject(unit, target)))


def snapshot_of(unit: Unit, target: Target, matrix: Matrix) -> Snapshot:
    """The machine that a unit makes of a target, as facts with their files and lines; what nobody declares is unknown."""
    reading = tuple(target_reading(target))
    facts: dict[str, Fact] = {"platform": Fact(target.os, reading)}
    declared = {"rocm.version": target.rocm, "driver.version": target.driver, "python.version": target.python}
    facts |= {name: Fact(value, reading) for name, value in declared.items() if value}
    if unit.image:
        brought = image_facts(unit.image.value)
        at = (unit.image.place.reading(),)
        facts |= {f"{n}.version": Fact(brought[n], at) for n in ("rocm", "python") if n in brought}
    for step in unit.steps:
        facts |= {f"pkg.{r.name}": _version_of(r) for r in step.requirements if r.name != "torch" and applies(r.marker, target)}
    facts |= {f"env.{s.name}": Fact(s.value, (s.place.reading(),)) for s in unit.env if "$" not in s.value}
    facts |= _torch_facts([t for _, _, t in states(unit, matrix, target)][-1:])
    return Snapshot(facts, (Gpu({"gfx": Fact(target.gpu, reading)}),) if target.gpu else (), bool(target.gpu))


def _version_of(r: Requirement) -> Fact:
    version = pinned(r.spec)
    return Fact(version or Unknown("not-declared", f"pin {r.name}"), (r.place.reading(),))


def _torch_facts(last: Sequence[Torch]) -> dict[str, Fact]:
    """The torch that the unit ends up with, where it is decided."""
    if not last or last[0].build not in ("rocm", "cuda", "cpu") or (last[0].build == "cpu" and last[0].explicit):
        return {}
    torch = last[0]
    reading = Reading(
        torch.place.file, f"line {torch.place.line}", torch.place.quote or f"torch as {said(torch.build)}: {torch.why}"
    )
    facts = {"torch.build": Fact(torch.build, (reading,))}
    if torch.version:
        facts["torch.version"] = Fact(torch.local, (reading,))
    if torch.build == "rocm" and torch.rocm:
        facts["torch.rocm"] = Fact(torch.rocm, (reading,))
    return facts


def _joined(snapshots: Sequence[Snapshot], targets: Sequence[Target], matrix: Matrix) -> Snapshot:
    """All units in one snapshot, for reports: the first value of each fact, with the others as disputed."""
    facts: dict[str, Fact] = {}
    for one in snapshots:
        for key, fact in one.facts.items():
            facts[key] = agree(facts.get(key), fact)
    gpus = tuple(Gpu({"gfx": Fact(t.gpu, tuple(target_reading(t)))}) for t in targets if t.gpu)
    return enrich(Snapshot(facts, gpus, bool(gpus)), matrix)


_SOFT = ("not UTF-8", "no requirement", "unknown key")


def _of_trouble(trouble: Trouble, matrix: Matrix) -> Finding:
    severity: Severity = "note" if trouble.message.startswith(_SOFT) else "warning"
    at = Reading(trouble.place.file, f"line {max(1, trouble.place.line)}", trouble.place.quote)
    return finding(matrix, "repo.unreadable", evidence=[at], severity=severity, title=trouble.message,
                   subject=f"{trouble.place.file}:{trouble.place.line}")  # fmt: skip


def _accepted(
    findings: Iterable[Finding], policy: Policy, today: datetime.date, matrix: Matrix
) -> tuple[list[Finding], list[Finding]]:
    """Findings that are not accepted, and findings on the acceptances themselves."""
    all_of = list(findings)
    hits = {ignore: [f for f in all_of if _fits(ignore, f)] for ignore in policy.ignores}
    silent = {id(f) for ignore, found in hits.items() if not _expired(ignore, today) for f in found}
    stale = [_stale(i, "has run out on " + str(i.until), matrix) for i in policy.ignores if _expired(i, today)]
    stale += [_stale(i, "fits no finding any more", matrix) for i, found in hits.items() if not found and not _expired(i, today)]
    return [f for f in all_of if id(f) not in silent], stale


def _fits(ignore: Ignore, one: Finding) -> bool:
    file = one.evidence[0].artifact if one.evidence else ""
    return ignore.id in (one.id, one.row, f"{one.id}:{one.row}") and (not ignore.file or fnmatchcase(file, ignore.file))


def _expired(ignore: Ignore, today: datetime.date) -> bool:
    return ignore.until is not None and today >= ignore.until


def _stale(ignore: Ignore, what: str, matrix: Matrix) -> Finding:
    return finding(
        matrix, "repo.stale-ignore", evidence=[ignore.place.reading()], severity="warning", subject=f"{ignore.id} {ignore.file}".strip(),
        title=f"the ignore of {ignore.id} {what}", cause=f"It was accepted because: {ignore.reason}.",
    )  # fmt: skip


def _verdict(findings: Sequence[Finding], targets: Sequence[Target], repository: Repository) -> tuple[Verdict, str]:
    serious = [f for f in findings if f.severity != "note" and not f.follows_from]
    if serious:
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return "problems", serious[0].title + more
    named = ", ".join(t.gpu or t.name for t in targets)
    if not repository.units:
        return "undetermined", f"no file that declares a stack was found among {repository.files} that were looked at"
    return "ready", f"nothing stands against {named} in {len(repository.units)} declared environments"


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
