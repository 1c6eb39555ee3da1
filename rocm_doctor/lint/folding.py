"""What is said once: one cause with all its places, environments and targets; and what the repository accepts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Ignore, Policy
from rocm_doctor.lint.rules.torch_build import NO_TORCH
from rocm_doctor.lint.weighing import Judged
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Subject
from rocm_doctor.rules.findings import finding

MOST_PLACES = 25
_SEVERE = ("error", "warning", "note")
_GFX = regex(r"gfx\d[0-9a-f]{2,3}")
_QUOTED_PLACE = regex(r"line \d+ of \S+")


_BY_CAUSE = frozenset(("arch.not-in-build", "version.python-unsupported", "version.wheel-missing"))


def of_one_environment(findings: Iterable[Finding]) -> list[Finding]:
    """What is said twice of one environment (4-bit, and the 8-bit optimizer, want the same library): the worse one, with all
    lines.
    """
    findings = list(findings)
    stopped = [one for one in findings if one.id == "version.wheel-missing" and one.title.startswith(NO_TORCH)]
    nothing = {r.at for one in stopped for r in one.evidence[:1]}
    kept: dict[tuple[str, ...], Finding] = {}
    for one in findings:
        if one.id == "arch.not-in-build" and one.evidence[0].at in nothing:
            continue  # what cannot be installed has no code to be missing
        # An extra that uv refuses, and a package for CUDA in it, are two; so are a list of GPUs and a library that does not serve the GPU.
        apart = one.severity if one.id == "version.package-mismatch" else one.cause if one.id in _BY_CAUSE else ""
        key = (one.id, one.subject, apart)
        first = kept.setdefault(key, one)
        worse = one if _SEVERE.index(one.severity) < _SEVERE.index(first.severity) else first
        evidence = tuple(dict.fromkeys((*worse.evidence, *first.evidence, *one.evidence)))
        kept[key] = msgspec.structs.replace(worse, evidence=_target_last(evidence))
    return list(kept.values())


def _target_last(evidence: Sequence[Reading]) -> tuple[Reading, ...]:
    return tuple(sorted(evidence, key=lambda r: r.origin == "target"))


def by_cause(judged: Iterable[Judged]) -> list[Finding]:
    """One finding for each cause and severity, at all the places where it is found, for all the targets that it holds for."""
    groups: dict[tuple[str, ...], list[Judged]] = {}
    for one in judged:
        f = one.finding
        cause = "" if f.row else _GFX.sub("GPU", _QUOTED_PLACE.sub("", f.cause))
        groups.setdefault((f.id, f.row, f.severity, cause, f.title if one.alone else ""), []).append(one)
    return [_folded(group) for group in groups.values()]


def _folded(group: Sequence[Judged]) -> Finding:
    first = group[0].finding
    names = list(dict.fromkeys(one.environment.name for one in group))
    targets = list(dict.fromkeys(one.target.name if one.target.place else one.target.gpu for one in group if one.target.gpu))
    readings = [r for one in group for r in one.finding.evidence]
    places = list(dict.fromkeys(r for r in readings if r.origin != "target"))
    whose = list(dict.fromkeys(r for r in readings if r.origin == "target"))
    more = len(places) - MOST_PLACES
    cause = first.cause + (f" It is so in {len(places)} places; {MOST_PLACES} of them are listed." if more > 0 else "")
    commands = tuple(dict.fromkeys(c for one in group for c in one.finding.commands))
    for_ = f" for {', '.join(targets)}" if group[0].target.place else ""
    made = msgspec.structs.replace(
        first,
        title=_for_all(first.title, group),
        advice=_all_edits(_for_each([one.finding.advice for one in group])),
        cause=cause,
        subject=_named(names) + for_,
        evidence=(*places[:MOST_PLACES], *whose),
        commands=commands if len(commands) <= 2 else commands[:2],
    )
    return fingerprinted(made, names, targets)


_NEWER = regex(r"(?<=ROCm )([\d.]+)(?= or newer)")
_PIN = regex(r"Write ([\w.-]+)==([\w.]+) on (line \d+ of \S+?)\.(?= |$)")


def _for_each(advice: Sequence[str]) -> list[str]:
    """The advice, with one release for what several ask for: the newest ROCm, which serves all GPUs, and the lowest for a line that several
    environments install, which asks for the oldest torch.
    """
    newest = max((m[1] for one in advice for m in _NEWER.finditer(one)), key=versions.sort_key, default="")
    advice = [_NEWER.sub(newest, one) for one in advice]
    asked: dict[tuple[str, str], set[str]] = {}
    for one in advice:
        for name, version, place in _PIN.findall(one):
            asked.setdefault((name, place), set()).add(version)
    lowest = {key: min(found, key=versions.sort_key) for key, found in asked.items()}
    return [_PIN.sub(lambda m: f"Write {m[1]}=={lowest[m[1], m[3]]} on {m[3]}.", one) for one in advice]


_MOST_FILES = 6
_EDIT = regex(r"(?:Delete|(?:Take (?:&& )?\S+ out|Put : in place) of|Set \S+ to \S+ on) line \d+ of \S+\.(?= |$)")
_ELSEWHERE = regex(r"It is set on (.*?) as well\. ")
_LINE = regex(r"(.*?)\bline (\d+) of (\S+?)(\.?)")


def _all_edits(advice: Sequence[str]) -> str:
    """The first advice, with the edits of the others in front of it: mending one of several places leaves the finding."""
    said = list(dict.fromkeys(edit for one in advice for edit in _EDIT.findall(one)))
    elsewhere = dict.fromkeys(line for one in advice for m in _ELSEWHERE.finditer(one) for line in m[1].split(", "))
    edits = _by_file(said)
    if len(edits) > _MOST_FILES or not (said or elsewhere):
        return _with_further(list(dict.fromkeys(advice)))
    rest = _EDIT.sub("", _ELSEWHERE.sub("", advice[0])).strip()
    left = _by_file([line for line in elsewhere if not any(f" {line}." in edit for edit in said)])
    more = [f"{len(left) - _MOST_FILES} more files"] if len(left) > _MOST_FILES else []
    also = [f"It is set on {', '.join((*left[:_MOST_FILES], *more))} as well."] if left else []
    return " ".join((*edits, *also, rest))


_PLACE = regex(r"line \d+ of \S+?(?=[.,:;]?(?: |$))")
_MOST_FURTHER = 2


def _with_further(advice: Sequence[str]) -> str:
    """The first advice, the other lines to be changed in the same way, and what differs where it names a line as well."""
    first, *others = advice
    named = set(_PLACE.findall(first))
    own = {one: [place for place in _PLACE.findall(one) if place not in named] for one in others}
    alike = [one for one, places in own.items() if places and _PLACE.sub("", one) == _PLACE.sub("", first)]
    same = list(dict.fromkeys(place for one in alike for place in own[one]))
    listed = [*same[:_MOST_FILES], *([f"{len(same) - _MOST_FILES} more"] if len(same) > _MOST_FILES else [])]
    differ = [one for one, places in own.items() if places and one not in alike]
    return " ".join((first, *([f"The same on {', '.join(listed)}."] if same else []), *differ[:_MOST_FURTHER]))


def _by_file(said: Iterable[str]) -> list[str]:
    """Texts that name a line each, as one for each file."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for one in said:
        if found := _LINE.fullmatch(one):
            groups.setdefault((found[1], found[3], found[4]), []).append(int(found[2]))
    return [f"{what}{_lines(sorted(set(lines)))} of {file}{dot}" for (what, file, dot), lines in groups.items()]


def _lines(lines: Sequence[int]) -> str:
    *first, last = map(str, lines)
    return f"lines {', '.join(first)} and {last}" if first else f"line {last}"


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more environment{'s' if len(names) > 2 else ''}"


def _for_all(title: str, group: Sequence[Judged]) -> str:
    """The title with the GPUs of all its targets where it names the first one's."""
    gpus = list(dict.fromkeys(one.target.gpu for one in group if one.target.gpu))
    if len(gpus) < 2 or gpus[0] not in title:
        return title
    return title.replace(gpus[0], ", ".join(gpus))


def fingerprinted(one: Finding, environments: Sequence[str], targets: Sequence[str]) -> Finding:
    """A hash of what the finding is about: its diagnosis, cause, environments and targets. Lines and versions are not part of it."""
    import hashlib

    cause = re.sub(r"\d[\w.+]*", "", _GFX.sub("", one.title))
    decisive = "\n".join((one.id, one.row, one.severity, cause, *sorted(environments), *sorted(targets)))
    return msgspec.structs.replace(one, fingerprint=hashlib.sha256(decisive.encode()).hexdigest()[:16])


def accepted(
    findings: Iterable[Finding], policy: Policy, today: datetime.date, matrix: Matrix
) -> tuple[list[Finding], list[Finding]]:
    """Findings that are not accepted, and findings on the acceptances themselves."""
    all_of = list(findings)
    hits = {ignore: [f for f in all_of if fits(ignore.id, ignore.file, f)] for ignore in policy.ignores}
    silent = {id(f) for ignore, found in hits.items() if not _expired(ignore, today) for f in found}
    stale = [_stale(i, "has run out on " + str(i.until), matrix) for i in policy.ignores if _expired(i, today)]
    stale += [_stale(i, "fits no finding any more", matrix) for i, found in hits.items() if not found and not _expired(i, today)]
    return [f for f in all_of if id(f) not in silent], stale


def fits(named: str, path: str, one: Finding) -> bool:
    """True if a finding is of this diagnosis or row, and at this path (a pattern, of any of its places)."""
    files = [r.artifact for r in one.evidence if r.place.startswith("line ")]
    at = not path or any(fnmatchcase(file, path) for file in files)
    return at and (not named or named in (one.id, one.row, f"{one.id}:{one.row}") or fnmatchcase(one.id, named))


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
