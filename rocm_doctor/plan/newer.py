"""The next newer build than the one that a plan puts first, and the evidence against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.matrix import TorchBuild
from rocm_doctor.model import NO_FAULT, Finding
from rocm_doctor.plan.candidates import Candidate, Rejected, missing_report, voices
from rocm_doctor.plan.evidence import doubts, statements
from rocm_doctor.plan.stacks import Resolver, Stack
from rocm_doctor.rules.build import unseen
from rocm_doctor.versions import release

_MOST = 2
"""Reasons that are shown."""

_OF_CODE = ("arch.not-in-build", "arch.blas-missing")
"""What the reason against a build without code for the GPU has said already."""

Reason = tuple[str, str]
"""Words and their source."""


class Newer(NamedTuple):
    """A build and up to two reasons against it, each with its source, the strongest first."""

    build: TorchBuild
    reasons: tuple[Reason, ...]


def next_newer(stacks: tuple[Stack, ...], rejected: tuple[Rejected, ...], resolver: Resolver) -> Newer | None:
    """The next release by torch, then ROCm, that this machine could fetch; None when the first stack is the newest, and when nothing speaks
    against the other."""
    if not stacks:
        return None
    first = stacks[0]
    works = {s.candidate.build.key: s for s in stacks if not s.candidate.index.nightly}
    fails = {r.build.key: r for r in rejected if not r.absent and r.build.rocm != "nightly" and r.build.key not in works}
    said = [(s.candidate.build, _weaker(s, first)) for s in works.values()]
    said += [(r.build, _reasons_against(r, first, resolver)) for r in fails.values()]
    later = [(build, reasons) for build, reasons in said if age(build) > age(first.candidate.build)]
    if not later:
        return None
    build, reasons = min(later, key=lambda one: age(one[0]))
    found = _strongest((*reasons, *_doubts(build, first, resolver)))
    return Newer(build, found) if found else None


def _strongest(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The first ones, each once."""
    once = {words: (words, source) for words, source in reversed(tuple(reasons))}
    return tuple(once.values())[::-1][:_MOST]


def age(build: TorchBuild) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A key by which a later release of torch, then of its ROCm, comes after an earlier one."""
    return release(build.torch) or (), release(build.rocm) or ()


def _weaker(one: Stack, first: Stack) -> Iterator[Reason]:
    """Why a newer stack that works is not the first: variables, notes that the first lacks, the grade, a wheel not seen."""
    said = one.candidate.said[0]
    cured = [n for n in one.notes if n.severity != "note"] if one.env.keys() - first.env.keys() else []
    if one.env.keys() - first.env.keys():
        yield (
            f"works only with {', '.join(sorted(one.env))}" + (f": {cured[0].title}" if cured else ""),
            _first_source(cured, said.source),
        )
    yield from ((f"works, but {title}", source) for title, source in _new([n for n in one.notes if n not in cured], first))
    if one.grade != first.grade:
        yield f"works, but the evidence is {one.grade} and not {first.grade}: {said.words}", said.source
    if unseen(one.candidate.build) and not unseen(first.candidate.build):
        yield "its wheel was not seen in a listing", one.candidate.build.sources[0]


def _first_source(found: Sequence[Finding], otherwise: str) -> str:
    """The first source of the first finding."""
    return next(iter(found[0].sources), otherwise) if found else otherwise


def _reasons_against(one: Rejected, first: Stack, resolver: Resolver) -> Iterator[Reason]:
    """Why a newer build is ruled out, and what `check` would say of it beside that."""
    yield one.why, one.source
    found = one.more
    index = resolver.stack_judge.known.index_of(one.build)
    if one.finding is None and index is not None:
        judged = resolver.stack_judge.judge(Candidate(one.build, index, "hearsay", ()), {}, {})
        found = tuple(f for f in judged if f.id not in _OF_CODE)
        machine, matrix = resolver.stack_judge.machine, resolver.stack_judge.known.matrix
        words = missing_report(voices(one.build, index, None, machine, statements(machine, matrix)), machine)
        yield from [(words, index.sources[0])] if words else ()
    yield from _new(found, first)


def _new(found: Iterable[Finding], first: Stack) -> Iterator[Reason]:
    """Findings that the first stack does not have, wrong results first."""
    known = {(note.id, note.row) for note in first.notes}
    for one in sorted(found, key=lambda f: f.status != "wrong"):
        if (one.id, one.row) not in known and one.status not in NO_FAULT:
            yield one.title, next(iter(one.sources), "")


def _doubts(build: TorchBuild, first: Stack, resolver: Resolver) -> Iterator[Reason]:
    """Statements and unconfirmed reports about the newer build that do not speak against the first one, too."""
    machine, matrix = resolver.stack_judge.machine, resolver.stack_judge.known.matrix
    same = {key for key, _, _ in doubts(first.candidate.build, machine, matrix)}
    yield from ((words, source) for key, words, source in doubts(build, machine, matrix) if key not in same)
