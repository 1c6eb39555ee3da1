"""The next newer build than the one that a plan puts first, and what speaks against it."""

from __future__ import annotations

from typing import NamedTuple

from rocm_doctor.matrix import TorchBuild
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.versions import release


class Newer(NamedTuple):
    """A build, why it is not the first, and the source of that."""

    build: TorchBuild
    why: str
    source: str


def next_newer(stacks: tuple[Stack, ...], rejected: tuple[Rejected, ...]) -> Newer | None:
    """The next release by torch, then ROCm, that this machine could fetch and something speaks against; None without one."""
    if not stacks:
        return None
    first = stacks[0]
    others = [Newer(r.build, r.why, r.source) for r in rejected if not r.absent]
    others += [Newer(s.candidate.build, *why) for s in stacks if (why := _reason_against(s, first))]
    later = [n for n in others if n.build.rocm != "nightly" and age(n.build) > age(first.candidate.build)]
    return min(later, key=lambda n: age(n.build), default=None)


def age(build: TorchBuild) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A key by which a later release of torch, then of its ROCm, comes after an earlier one."""
    return release(build.torch) or (), release(build.rocm) or ()


def _reason_against(one: Stack, first: Stack) -> tuple[str, str] | None:
    """Why a stack that works is not the first, with the source: a note that the first lacks, a variable that it needs, its evidence."""
    known = {(note.id, note.row) for note in first.notes}
    claim = one.candidate.said[0]
    for note in one.notes:
        if (note.id, note.row) not in known:
            return f"works, but {note.title}", next(iter(note.sources), claim.source)
    if needed := one.env.keys() - first.env.keys():
        return f"works only with {', '.join(sorted(needed))}", claim.source
    weaker = f"works, but the evidence is {one.grade} and not {first.grade}: {claim.words}"
    return (weaker, claim.source) if one.grade != first.grade else None
