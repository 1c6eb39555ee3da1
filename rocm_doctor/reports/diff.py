"""Two reports compared ("worked yesterday", "works on the other machine"): differences, likely causes first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.coords import COORDS
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import NOT_ASKED, Fact, Finding, Gpu, Reading, Report, Snapshot
from rocm_doctor.reports.machine import show_value
from rocm_doctor.reports.page import Page, Section

_SEVERE = ("error", "warning", "note")
_MOST = 15
"""Differences of one kind that a short page shows, at most."""


class Difference(msgspec.Struct, frozen=True):
    """One fact that differs. `explains` names the findings that depend on it."""

    name: str
    before: str
    after: str
    explains: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()


class Diff(msgspec.Struct, frozen=True):
    """`new` and `gone`: findings of only the second or only the first report. Differences that explain one come first."""

    before: str
    after: str
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    differences: tuple[Difference, ...]


def compare(first: Report, second: Report, matrix: Matrix) -> Diff:
    """What changed from the first report to the second."""
    new = _only(second.findings, first.findings)
    gone = _only(first.findings, second.findings)
    ours, theirs = _facts(first.snapshot, second.snapshot)
    names = [*theirs, *(name for name in ours if name not in theirs)]
    found = [
        _difference(n, ours.get(n), theirs.get(n), (*new, *gone), matrix) for n in names if _differ(ours.get(n), theirs.get(n))
    ]
    return Diff(_report_name(first), _report_name(second), new, gone, _rank(found, (*new, *gone)))


def _report_name(report: Report) -> str:
    return f"{report.source}: {report.summary}"


def _only(these: Sequence[Finding], those: Sequence[Finding]) -> tuple[Finding, ...]:
    known = {f.fingerprint for f in those}
    return tuple(f for f in these if f.fingerprint not in known)


def _facts(first: Snapshot, second: Snapshot) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """Every fact of either side by name; those of a GPU as `gpus[0000:03:00.0].vram_bytes`, one GPU by one name on both."""
    sides = dict(first.facts), dict(second.facts)
    for number, pair in enumerate(_pair(first.gpus, second.gpus)):
        addresses = {a for gpu in pair if gpu and isinstance(a := gpu.value("pci_bdf"), str)}
        where = addresses.pop() if len(addresses) == 1 else str(number)
        for side, gpu in zip(sides, pair):
            side.update({f"gpus[{where}].{key}": fact for key, fact in (gpu.facts if gpu else {}).items()})
    return sides


def _pair(ours: Sequence[Gpu], theirs: Sequence[Gpu]) -> list[tuple[Gpu | None, Gpu | None]]:
    """Pairs of the same GPU: by address, then by target, then by order (another slot or machine, a text without addresses);
    an unmatched GPU exists on one side only.
    """
    pairs: list[tuple[Gpu | None, Gpu | None]] = []
    left, right = list(ours), list(theirs)
    for key in ("pci_bdf", "gfx", ""):
        for gpu in tuple(left):
            other = next((g for g in right if not key or _same(key, gpu, g)), None)
            if other is not None:
                pairs.append((gpu, other))
                left.remove(gpu)
                right.remove(other)
    return [*pairs, *((gpu, None) for gpu in left), *((None, gpu) for gpu in right)]


def _same(key: str, one: Gpu, other: Gpu) -> bool:
    value = one.value(key)
    return isinstance(value, str) and value == other.value(key)


def _differ(one: Fact | None, other: Fact | None) -> bool:
    return _words(one) != _words(other) and not (_silent(one) and _silent(other))


def _silent(fact: Fact | None) -> bool:
    """True for a fact that was not probed or could not be read: alone it is not a difference."""
    return fact is None or not fact.known


def _words(fact: Fact | None) -> str:
    return show_value(fact or NOT_ASKED)


def _difference(name: str, one: Fact | None, other: Fact | None, findings: Sequence[Finding], matrix: Matrix) -> Difference:
    # A value that can no longer be read is not a change of the machine: it explains nothing.
    resting = [f for f in findings if _depends_on(f, name, one, other, matrix)] if not _silent(other) else []
    readings = tuple(reading for fact in (one, other) if fact for reading in fact.readings[:1])
    return Difference(name, _words(one), _words(other), tuple(dict.fromkeys(f.row or f.id for f in resting)), readings)


def _depends_on(finding: Finding, name: str, one: Fact | None, other: Fact | None, matrix: Matrix) -> bool:
    """True if the finding's row has a condition on the fact, or the fact's readings are its evidence."""
    row = matrix.row(finding.row) if finding.row else None
    key = "gpu." + name.rsplit("].", 1)[1] if name.startswith("gpus[") else name
    if row is not None and key in row.when:
        return True
    readings = {(r.artifact, r.place, r.quote) for fact in (one, other) if fact for r in fact.readings}
    return any((r.artifact, r.place, r.quote) in readings for r in finding.evidence)


def _rank(differences: Sequence[Difference], findings: Sequence[Finding]) -> tuple[Difference, ...]:
    """The differences, those first that explain the most severe finding, then in the order of coords.txt."""
    severe = {f.row or f.id: _SEVERE.index(f.severity) for f in reversed(findings)}
    worst = {one.name: min((severe[name] for name in one.explains), default=len(_SEVERE)) for one in differences}
    places = {name: place for place, name in enumerate(COORDS)}

    def order(one: Difference) -> tuple[int, int, str]:
        name = "gpu." + one.name.rsplit("].", 1)[1] if one.name.startswith("gpus[") else one.name
        place = places.get(name, places.get(name.partition(".")[0] + ".", len(places)))
        return worst[one.name], place, one.name

    return tuple(sorted(differences, key=order))


def as_page(diff: Diff) -> Page:
    """The comparison as a page: new and gone findings, then the differences, likely causes first."""
    sections = [Section(label, [_sentence(one) for one in found]) for label, found in (("new", diff.new), ("gone", diff.gone))]
    for label, explains in (("causes", True), ("other", False)):
        sections.append(Section(label, [_line(one) for one in diff.differences if bool(one.explains) is explains], _MOST))
    if not diff.differences:
        sections.append(Section("", ["No difference in the facts that both know."]))
    title = f"{diff.before} -> {diff.after}"
    return Page(title, tuple(one for one in sections if one.lines))


def _sentence(one: Finding) -> str:
    """A finding in a sentence, with the finding that it follows from (new or in both reports)."""
    cause = f"follows from {one.follows_from}" if one.follows_from else one.severity
    return f"{cause}: {one.title} ({one.row or one.id})"


def _line(one: Difference) -> str:
    why = f", which explains {', '.join(one.explains)}" if one.explains else ""
    return f"{one.name}: {one.before} -> {one.after}{why}"
