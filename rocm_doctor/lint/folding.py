"""What is said once: the same fault of one unit, one line that several environments install, what the repository accepts."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from rocm_doctor.lint.declared import Ignore, Policy, Unit
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Subject
from rocm_doctor.rules.findings import finding, stamped

_OURS = frozenset(("rocm", "amd", "hip", "amdgpu"))
# A job on a hosted runner has no GPU: what it installs is for a test, not for the training.
_JOB = " job "
_MOST_PLACES = 25
_SEVERE = ("error", "warning", "note")


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """What is said twice of one unit (4-bit, and the 8-bit optimizer, want the same library): the worse one, with both lines."""
    kept: dict[tuple[str, str], Finding] = {}
    for one in findings:
        first = kept.setdefault((one.id, one.subject), one)
        worse = one if _SEVERE.index(one.severity) < _SEVERE.index(first.severity) else first
        evidence = tuple(dict.fromkeys((*worse.evidence, *first.evidence, *one.evidence)))
        kept[one.id, one.subject] = msgspec.structs.replace(worse, evidence=_target_last(evidence))
    return list(kept.values())


def _target_last(evidence: Sequence[Reading]) -> tuple[Reading, ...]:
    return tuple(sorted(evidence, key=lambda r: r.origin == "target"))


def once(findings: Iterable[Finding]) -> list[Finding]:
    """One line that several environments install is one finding; notes of one kind are one, with the places of all."""
    kept: dict[tuple[object, ...], Finding] = {}
    for one in findings:
        target = one.evidence[-1:]
        key = (one.id, one.row, target) if one.severity == "note" else (one.id, one.row, one.title, target, one.evidence[:1])
        first = kept.setdefault(key, one)
        if first is not one and one.severity == "note":
            places = [r for r in (*first.evidence, *one.evidence) if r not in target]
            kept[key] = msgspec.structs.replace(first, evidence=(*dict.fromkeys(places[:_MOST_PLACES]), *target))
    return list(kept.values())


def words_of(name: str) -> set[str]:
    """The words of a file's name: `requirements-cu121.txt` is requirements, cu121, txt."""
    return set("".join(c if c.isalnum() else " " for c in name.lower()).split())


def weighed(one: Finding, unit: Unit, units: Sequence[Unit]) -> Finding:
    """A general file beside one that is named for ROCm (requirements.txt beside requirements-rocm.txt) only gets notes on its
    torch.
    """
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


def accepted(
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
        matrix,
        "repo.stale-ignore",
        evidence=[ignore.place.reading()],
        severity="warning",
        subject=Subject(f"{ignore.id} {ignore.file}".strip(), "file"),
        title=f"the ignore of {ignore.id} {what}",
        cause=f"It was accepted because: {ignore.reason}.",
    )
