"""The next newer build than the one that a plan puts first, and the evidence against it."""

from __future__ import annotations

from typing import NamedTuple

from rocm_doctor.matrix import TorchBuild
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.versions import release


class Newer(NamedTuple):
    """A build and up to two reasons against it, each with its source."""

    build: TorchBuild
    reasons: tuple[tuple[str, str], ...]


def next_newer(stacks: tuple[Stack, ...], rejected: tuple[Rejected, ...]) -> Newer | None:
    """The next release by torch, then ROCm, that this machine could fetch; None when the first stack is the newest."""
    if not stacks:
        return None
    best = _age(stacks[0].candidate.build)
    works = [(s.candidate.build, _outranked(s, stacks[0])) for s in stacks if not s.candidate.index.nightly]
    fails = [(r.build, _against(r)) for r in rejected if not r.absent and r.build.rocm != "nightly"]
    later = [Newer(build, reasons) for build, reasons in (*works, *fails) if _age(build) > best]
    return min(later, key=lambda one: _age(one.build), default=None)


def _age(build: TorchBuild) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return release(build.torch) or (), release(build.rocm) or ()


def _outranked(one: Stack, first: Stack) -> tuple[tuple[str, str], ...]:
    """Why a newer stack that works is not the first."""
    said = one.candidate.said[0]
    if one.env.keys() - first.env.keys():
        note = next((n for n in one.notes if n.severity != "note"), None)
        return ((f"works with {', '.join(sorted(one.env))} alone" + (f": {note.title}" if note else ""), said.source),)
    wrong = next((n for n in one.notes if n.status == "wrong"), None)
    if wrong:
        return ((f"works, but {wrong.title}", next(iter(wrong.sources), said.source)),)
    if one.grade != first.grade:
        return ((f"works, but the evidence is {one.grade} and not {first.grade}: {said.words}", said.source),)
    better = "a run of this one is reported" if first.candidate.known_good else "this one is the main build of its release"
    return ((f"works as well; {better}", said.source),)


def _against(one: Rejected) -> tuple[tuple[str, str], ...]:
    return ((one.why, one.source), *((f.title, next(iter(f.sources), "")) for f in one.more[:1]))
