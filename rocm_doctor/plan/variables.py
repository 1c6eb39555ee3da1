"""Environment variables of a stack: what to set and what to unset, each with its reason and source, for four shells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.commands import set_variable
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.model import Finding
from rocm_doctor.plan.catalog import Catalog
from rocm_doctor.plan.machine import Machine
from rocm_doctor.plan.search import READ, Stack
from rocm_doctor.plan.stack_judge import changed_variables
from rocm_doctor.rules.override import NAME as OVERRIDE


class Variable(msgspec.Struct, frozen=True):
    """One variable. `value` None: unset it."""

    name: str
    value: str | None
    why: str
    source: str = ""


def variables(stack: Stack, machine: Machine, known: Catalog, after: Iterable[Finding]) -> tuple[Variable, ...]:
    """What to set for this stack, then what to unset. A name that nothing reads is never set. `after`: what `check` would find on a
    machine that was read with the stack installed."""
    found = [*_stack_variables(stack, known), *_advised_variables(stack.notes, known.matrix)]
    if machine.probed:
        found += finding_variables(after, machine, known.matrix)
    elif machine.system == "linux" and OVERRIDE not in stack.env:
        found += _override_to_unset(machine, known.matrix)
    return tuple({v.name: v for v in reversed(found)}.values())[::-1]


def _stack_variables(stack: Stack, known: Catalog) -> Iterator[Variable]:
    override = stack.candidate.override
    brought = {name: (known.packages[p], one) for p, one in stack.packages.items() for name in one.env}
    for name, value in stack.env.items():
        if override and name == OVERRIDE:
            why = f"no wheel here contains code for this GPU; reported of this value: {override.words}"
            yield Variable(name, value, why, override.sources[0])
        elif name in brought:
            package, release = brought[name]
            yield Variable(name, value, release.env_why, package.sources[0])
        elif entry := known.matrix.env.get(name):
            yield Variable(name, value, entry.effect, entry.sources[0])


def finding_variables(findings: Iterable[Finding], machine: Machine, matrix: Matrix) -> tuple[Variable, ...]:
    """What findings say to set and to unset, where the catalog knows a reader and it is not so already. A guess counts for nothing."""
    here = machine.base
    sure = [one for one in findings if one.leads and one.confidence != "low"]
    gone = (
        Variable(name, None, one.title, next(iter(one.sources), ""))
        for one in sure
        for name, value in changed_variables(one).items()
        if value is None
    )
    found = [v for v in (*_advised_variables(sure, matrix), *gone) if here.get(f"env.{v.name}").value != v.value]
    for n, one in enumerate(found):  # a line of a start-up file sets it for the next shell again
        lines = [f"{r.artifact.replace('user/', '~/')} {r.place}" for r in here.get(f"startup.{one.name}").readings]
        found[n] = msgspec.structs.replace(one, why=f"{one.why}; set in {' and '.join(lines)}") if lines else one
    return tuple(found)


def _advised_variables(findings: Iterable[Finding], matrix: Matrix) -> Iterator[Variable]:
    """What findings say to set, where the catalog knows a reader."""
    for one in findings:
        for name, value in changed_variables(one).items():
            entry = matrix.env.get(name)
            if value is not None and entry and entry.exists in READ:
                yield Variable(name, value, one.title, next(iter(one.sources), ""))


def _override_to_unset(machine: Machine, matrix: Matrix) -> Iterator[Variable]:
    """At most one variable: HSA_OVERRIDE_GFX_VERSION, to unset, if a thread or a field report names a value that is harmful,
    faulty or not needed on this GPU. The shell that was not read may have it."""
    for one in matrix.gfx[machine.gfx].overrides:
        published = all(parse_citation(source).is_publication for source in one.sources)
        if one.verdict in ("harmful", "faulty", "not-needed") and not published:
            why = f"not needed: this torch has {machine.gfx} code. {one.value}: {one.words}"
            yield Variable(OVERRIDE, None, why, one.sources[0])
            return


def lines(found: tuple[Variable, ...], shell: str) -> list[str]:
    """Each variable as a line of that shell, under a line of comment with its reason and source."""
    return [
        line
        for v in found
        for line in (
            f"# {' '.join(v.why.split())}" + (f" [{v.source}]" if v.source else ""),
            set_variable(v.name, v.value, shell),
        )
    ]
