"""Environment variables of a stack: what to set and what to unset, each with its reason and source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.commands import changed_variables, set_variable
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Shell
from rocm_doctor.plan.catalog import Catalog
from rocm_doctor.plan.machine import Machine
from rocm_doctor.plan.search import Stack
from rocm_doctor.rules.override import NAME as OVERRIDE


class PlanVariable(msgspec.Struct, frozen=True):
    """One variable. `value` None: unset it."""

    name: str
    value: str | None
    why: str
    source: str = ""


def variables(stack: Stack, machine: Machine, catalog: Catalog, after: Iterable[Finding]) -> tuple[PlanVariable, ...]:
    """What to set for this stack, then what to unset. A name that nothing reads is never set. `after`: what `check` would find with the
    stack installed."""
    chosen = [*_stack_variables(stack, catalog), *finding_variables((*stack.notes, *after), machine, catalog.matrix)]
    return tuple({v.name: v for v in reversed(chosen)}.values())[::-1]


def _stack_variables(stack: Stack, catalog: Catalog) -> Iterator[PlanVariable]:
    override = stack.candidate.override
    brought = {name: (catalog.packages[p], r) for p, r in stack.packages.items() for name in r.env}
    for name, value in stack.env.items():
        if override and name == OVERRIDE:
            why = f"no wheel here contains code for this GPU; reported of this value: {override.words}"
            yield PlanVariable(name, value, why, override.sources[0])
        elif name in brought:
            package, release = brought[name]
            yield PlanVariable(name, value, release.env_why, package.sources[0])
        elif entry := catalog.matrix.env.get(name):
            yield PlanVariable(name, value, entry.effect, entry.sources[0])


def finding_variables(findings: Iterable[Finding], machine: Machine, matrix: Matrix) -> tuple[PlanVariable, ...]:
    """What findings say to set, where the catalog knows a reader, then what to unset; nothing that is so already. A guess counts for
    nothing."""
    here = machine.base
    chosen: list[PlanVariable] = []
    for finding in findings:
        for name, value in changed_variables(finding.commands).items() if finding.leads and finding.confidence != "low" else ():
            is_known = value is None or (name in matrix.env and matrix.env[name].is_read)
            if is_known and here.get(f"env.{name}").value != value:
                # A line of a start-up file sets it for the next shell again.
                lines = [f"{r.artifact.replace('user/', '~/')} {r.place}" for r in here.get(f"startup.{name}").readings]
                why = f"{finding.title}; set in {' and '.join(lines)}" if lines else finding.title
                chosen.append(PlanVariable(name, value, why, next(iter(finding.sources), "")))
    return tuple(sorted(chosen, key=lambda variable: variable.value is None))


def variable_lines(chosen: tuple[PlanVariable, ...], shell: Shell) -> list[str]:
    """Each variable as a line of that shell, under a line of comment with its reason and source."""
    return [
        line
        for v in chosen
        for line in (
            f"# {' '.join(v.why.split())}" + (f" [{v.source}]" if v.source else ""),
            set_variable(v.name, v.value, shell),
        )
    ]
