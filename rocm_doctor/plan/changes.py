"""When nothing works: the nearest things that would change it, each tried and with the stack that it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.model import Fact
from rocm_doctor.plan.machine import INBOX, change_machine
from rocm_doctor.plan.stacks import Resolver, Stack, best
from rocm_doctor.rules.conditions import holds
from rocm_doctor.versions import sort_key

PYTHONS = ("3.12", "3.13", "3.11", "3.10", "3.14", "3.9")


class Change(msgspec.Struct, frozen=True):
    """An alternative to the request, its result and its sources. `commands`: those that a person types for it."""

    what: str
    then: str
    source: str = ""
    commands: tuple[str, ...] = ()


def nearest_changes(resolver: Resolver) -> tuple[Change, ...]:
    """Fewer packages, another Python, driver, kernel or system: the first of each that leads to a stack; and who else has wheels."""
    return (*_removals(resolver), *_other_machines(resolver), *_community(resolver))


def _change(what: str, stack: Stack | None) -> Iterator[Change]:
    if stack is not None:
        said = stack.candidate.said[0]
        yield Change(what, f"{stack.name} ({stack.grade}): {said.words}", said.source)


def _removals(resolver: Resolver) -> Iterator[Change]:
    """The stacks without one of the packages; a package that its rows say how to build for this GPU, too."""
    wish, gfx = resolver.wish, Fact(resolver.stack_judge.machine.gfx)
    found = [c for name in wish for c in _change(f"without {name}", _first(resolver, [w for w in wish if w != name]))]
    yield from found or _change("with torch alone", _first(resolver, ()) if wish else None)
    for row in resolver.stack_judge.known.matrix.rows:
        about = next((n for n in wish if f"pkg.{n}" in row.when), "")
        by_hand = [c.text for c in row.commands if not c.text.startswith(("pip install", "pip uninstall", "export "))]
        if about and by_hand and row.status == "unsupported" and holds("word", row.when.get("gpu.gfx", ""), gfx):
            yield Change(f"{about} built from source", row.advice or row.title, row.sources[0], tuple(by_hand))


def _first(resolver: Resolver, wish: Sequence[str]) -> Stack | None:
    return next(resolver.for_wish(wish).stacks(), None)


def _other_machines(resolver: Resolver) -> Iterator[Change]:
    """The machine with one thing changed: the first Python with a stack, and each of the others that leads to one."""
    machine, known = resolver.stack_judge.machine, resolver.stack_judge.known

    def try_change(what: str, **changes: str) -> list[Change]:
        return list(_change(what, best(change_machine(machine, known.matrix, **changes), known, resolver.wish)))

    wish = "".join(f" --with {name}" for name in resolver.wish)
    for python in (one for one in PYTHONS if one != machine.python):
        command = f"rocm-doctor plan --gpu {machine.gfx} --os {machine.system} --python {python}{wish}"
        if found := try_change(f"with Python {python}", python=python):
            yield from (msgspec.structs.replace(one, commands=(command,)) for one in found)
            break
    if machine.system != "linux":
        yield from try_change("on Linux", system="linux", driver="", kernel="")
        return
    if machine.driver not in ("", INBOX):
        newest = max((m.module for m in known.matrix.driver.modules), key=sort_key, default="")
        yield from try_change("with the driver of the kernel itself", driver=INBOX)
        yield from try_change(f"with the driver module {newest}", driver=newest)
    if machine.kernel:
        yield from try_change("with another kernel", kernel="")


def _community(resolver: Resolver) -> Iterator[Change]:
    """Wheels that people outside of AMD and PyTorch build for this target: named, not judged."""
    for fact in resolver.stack_judge.known.matrix.facts:
        if fact.subject == "community wheels" and resolver.stack_judge.machine.gfx in fact.gfx:
            yield Change("community wheels, which neither AMD nor PyTorch builds or tests", fact.words, fact.sources[0])
