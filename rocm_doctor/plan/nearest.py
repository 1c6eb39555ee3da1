"""When nothing works: the nearest things that would change it, each tried and with the stack that it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.model import Fact
from rocm_doctor.plan.catalog import Catalog
from rocm_doctor.plan.machine import INBOX, Machine, change_machine
from rocm_doctor.plan.stacks import Resolver, Stack, best
from rocm_doctor.rules.conditions import holds
from rocm_doctor.versions import sort_key

PYTHONS = ("3.12", "3.13", "3.11", "3.10", "3.14", "3.9")


class Change(msgspec.Struct, frozen=True):
    """An alternative to the request, its result and its sources. `commands`: manual steps only."""

    what: str
    then: str
    source: str = ""
    commands: tuple[str, ...] = ()


def nearest(resolver: Resolver) -> tuple[Change, ...]:
    """Fewer packages, another Python, driver, kernel or system, and the next GPU: the first of each that leads to a stack."""
    machine, known, wish = resolver.stack_judge.machine, resolver.stack_judge.known, resolver.wish
    return (
        *_removals(resolver),
        *_source_builds(machine, known, wish),
        *_other_python(machine, known, wish),
        *_other_driver(machine, known, wish),
        *_other_system(machine, known, wish),
        *_other_gpu(machine, known, wish),
        *_community(machine, known),
    )


def _leads_to(what: str, stack: Stack | None) -> Iterator[Change]:
    if stack is not None:
        said = stack.candidate.said[0]
        yield Change(what, f"{stack.name} ({stack.grade}): {said.words}", said.source)


def _removals(resolver: Resolver) -> Iterator[Change]:
    wish = resolver.wish
    found = [c for name in wish for c in _leads_to(f"without {name}", _first(resolver, [w for w in wish if w != name]))]
    yield from found or _leads_to("with torch alone", _first(resolver, ()) if wish else None)


def _first(resolver: Resolver, wish: Sequence[str]) -> Stack | None:
    return next(resolver.wishing(wish).stacks(), None)


def _source_builds(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[Change]:
    """Rows that say how a package is built for a GPU that its wheels do not serve."""
    card = Fact(machine.gfx)
    for row in known.matrix.rows:
        about = next((n for n in wish if f"pkg.{n}" in row.when), "")
        by_hand = [c.text for c in row.commands if not c.text.startswith(("pip install", "pip uninstall", "export "))]
        if about and by_hand and row.status == "unsupported" and holds("word", row.when.get("gpu.gfx", ""), card):
            yield Change(f"{about} built from source", row.advice or row.title, row.sources[0], tuple(by_hand))


def _other_python(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[Change]:
    for python in PYTHONS:
        if python != machine.python:
            found = list(
                _leads_to(f"with Python {python}", best(change_machine(machine, known.matrix, python=python), known, wish))
            )
            if found:
                yield found[0]
                return


def _other_driver(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[Change]:
    if machine.system == "linux" and machine.driver not in ("", INBOX):
        newest = max((m.module for m in known.matrix.driver.modules), key=sort_key, default="")
        yield from _leads_to(
            "with the driver of the kernel itself", best(change_machine(machine, known.matrix, driver=INBOX), known, wish)
        )
        yield from _leads_to(
            f"with the driver module {newest}", best(change_machine(machine, known.matrix, driver=newest), known, wish)
        )
    if machine.kernel:
        yield from _leads_to("with another kernel", best(change_machine(machine, known.matrix, kernel=""), known, wish))


def _other_system(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[Change]:
    if machine.system != "linux":
        other = change_machine(machine, known.matrix, system="linux", driver="", kernel="")
        yield from _leads_to("on Linux", best(other, known, wish))


def _other_gpu(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[Change]:
    """The first GPU of the same family that has a stack here."""
    mine = known.matrix.gfx[machine.gfx]
    others = (t for t in known.matrix.gfx.values() if t.gfx != mine.gfx and t.family == mine.family)
    for target in sorted(others, key=lambda t: t.kind != mine.kind):
        stack = best(change_machine(machine, known.matrix, gfx=target.gfx), known, wish)
        if stack:
            yield from _leads_to(f"with a {target.gfx} GPU ({', '.join(target.names[:2])})", stack)
            return


def _community(machine: Machine, known: Catalog) -> Iterator[Change]:
    """Wheels that people outside of AMD and PyTorch build for this target: named, not judged."""
    for fact in known.matrix.facts:
        if fact.subject == "community wheels" and machine.gfx in fact.gfx:
            yield Change("community wheels, which neither AMD nor PyTorch builds or tests", fact.words, fact.sources[0])
