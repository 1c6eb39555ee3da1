"""When nothing works: the nearest things that would change it, each tried and with the stack that it leads to."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.model import Finding
from rocm_doctor.plan.machine import INBOX, change_machine
from rocm_doctor.plan.search import Resolver, Stack, first_stack
from rocm_doctor.versions import sort_key

PYTHONS = ("3.12", "3.13", "3.11", "3.10", "3.14", "3.9")


class Change(msgspec.Struct, frozen=True):
    """An alternative to the request. `what` is changed; `then`: the stack or the advice it leads to, as a sentence; `source`: one
    citation or empty; `commands`: what a person types for it."""

    what: str
    then: str
    source: str = ""
    commands: tuple[str, ...] = ()


def nearest_changes(resolver: Resolver) -> Iterator[Change]:
    """Fewer packages, what a finding says to do about a package, another Python, driver, kernel or system, each of them if it leads to a stack; and who
    else has wheels."""
    machine, matrix, wish = resolver.machine, resolver.known.matrix, resolver.wish
    removals = [(f"without {name}", [w for w in wish if w != name]) for name in wish]
    nearest = [c for what, rest in removals for c in _change(what, next(resolver.for_wish(rest).stacks(), None))]
    yield from nearest or _change("with torch alone", next(resolver.for_wish(()).stacks(), None) if wish else None)
    by_hand: dict[str, Finding] = {}
    for finding in (rejected.finding for rejected in resolver.rejected if rejected.finding and rejected.finding.commands):
        row = matrix.row(finding.row)
        for name in (n for n in wish if row and f"pkg.{n}" in row.when):
            by_hand.setdefault(name, finding)
    for name, finding in by_hand.items():
        commands = tuple(command.text.replace("gfxNNNN", machine.gfx) for command in finding.commands)
        yield Change(f"{name} by hand", finding.advice or finding.title, finding.sources[0], commands)

    def stack(**changes: str) -> Stack | None:
        return first_stack(change_machine(machine, matrix, **changes), resolver.known, wish)

    with_ = "".join(f" --with {name}" for name in wish)
    for python in (version for version in PYTHONS if version != machine.python):
        if other := stack(python=python):
            command = f"rocm-doctor plan --gpu {machine.gfx} --os {machine.system} --python {python}{with_}"
            yield from _change(f"with Python {python}", other, command)
            break
    if machine.system != "linux":
        yield from _change("on Linux", stack(system="linux", driver="", kernel=""))
    elif machine.driver not in ("", INBOX):
        newest = max((m.module for m in matrix.driver_modules), key=sort_key, default="")
        yield from _change("with the driver of the kernel itself", stack(driver=INBOX))
        yield from _change(f"with the driver module {newest}", stack(driver=newest))
    if machine.system == "linux" and machine.kernel:
        yield from _change("with another kernel", stack(kernel=""))
    for fact in matrix.facts:
        if fact.subject == "community wheels" and machine.gfx in fact.gfx:
            yield Change("community wheels, which neither AMD nor PyTorch builds or tests", fact.words, fact.sources[0])


def _change(what: str, stack: Stack | None, *commands: str) -> Iterator[Change]:
    if stack is not None:
        claim = stack.candidate.claims[0]
        yield Change(what, f"{stack.name} ({stack.grade}): {claim.words}", claim.source, commands)
