"""Installed packages that no stack goes with: each is named, and the plan is made with another release of it or without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.model import Finding
from rocm_doctor.plan.candidates import rank
from rocm_doctor.plan.machine import TORCH, Machine, remove_packages
from rocm_doctor.plan.stacks import Resolver, Stack


class Blocked(msgspec.Struct, frozen=True):
    """An installed package that rules out every stack. `finding`: what `check` would say of it beside the plan's torch; `goes`: it is
    removed, as no release of it works."""

    name: str
    version: str
    finding: Finding
    goes: bool


Freed = tuple[Resolver, list[Stack], tuple[Blocked, ...]]
"""What resolves, the stacks that work, and the packages that were in their way."""


def free_stacks(resolver: Resolver) -> Freed:
    """The stacks, if need be with another release of an installed package or without it; where neither is enough, without all that
    are in the way."""
    stacks = list(resolver.stacks())
    if stacks or not resolver.stack_judge.machine.probed:
        return resolver, stacks, ()
    blamed = _blame_packages(resolver)
    ways = [way for name in blamed for way in _ways(resolver, name, blamed[name])]
    if ways:
        return min(ways, key=lambda way: rank(way[1][0].candidate))
    other = resolver.for_machine(remove_packages(resolver.stack_judge.machine, tuple(blamed)), resolver.wish)
    stacks = list(other.stacks()) if len(blamed) > 1 else []
    machine = resolver.stack_judge.machine
    gone = tuple(Blocked(name, machine.installed(name), found, goes=True) for name, found in blamed.items())
    return (other, stacks, gone) if stacks else (resolver, [], ())


def _ways(resolver: Resolver, name: str, found: Finding) -> Iterator[Freed]:
    """The stacks with another release of an installed package, and those without it, where there are any."""
    machine, known = resolver.stack_judge.machine, resolver.stack_judge.known
    alone = remove_packages(machine, (name,))
    for goes, wish in ((False, (*resolver.wish, name)), (True, resolver.wish)):
        if goes or name in known.packages:
            other = resolver.for_machine(alone, wish)
            if stacks := list(other.stacks()):
                yield other, stacks, (Blocked(name, machine.installed(name), found, goes),)


def _blame_packages(resolver: Resolver) -> dict[str, Finding]:
    """The installed packages that findings against builds are about, each with the first of them."""
    machine = resolver.stack_judge.machine
    found: dict[str, Finding] = {}
    for one in (f for r in resolver.rejected if r.finding for f in (r.finding, *r.more)):
        for name in _packages_named(one, resolver, machine):
            found.setdefault(name, one)
    return found


def _packages_named(one: Finding, resolver: Resolver, machine: Machine) -> Sequence[str]:
    """The installed packages beside torch that a finding names: in its row's conditions, as its subject, or as its diagnosis."""
    row = resolver.stack_judge.known.matrix.row(one.row) if one.row else None
    names = [name.partition(".")[2] for name in row.when if name.startswith(("pkg.", "code."))] if row else []
    names += [one.id.removeprefix("lib.")] if one.id.startswith("lib.") else []
    names += [one.subject.partition(" ")[0]] if one.subject_kind == "package" else []
    return [name for name in names if name not in (*TORCH, *resolver.wish) and machine.installed(name)]
