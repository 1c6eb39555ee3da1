"""Environment variables of a stack: what to set and what to unset, each with its reason and source, for four shells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.commands import set_variable
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.types import Override
from rocm_doctor.model import Fact, Finding
from rocm_doctor.plan.catalog import Catalog
from rocm_doctor.plan.judging import StackJudge, exports, stack_facts, unset
from rocm_doctor.plan.machine import Machine, install_stack
from rocm_doctor.plan.stacks import READ, Stack, remaining
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.override import NAME as OVERRIDE


class Variable(msgspec.Struct, frozen=True):
    """One variable. `value` None: unset it."""

    name: str
    value: str | None
    why: str
    source: str = ""


def variables(stack: Stack, stack_judge: StackJudge) -> tuple[Variable, ...]:
    """What to set for this stack, then what to unset. A name that nothing reads is never set."""
    known = stack_judge.known
    found = [
        *_needed_variables(stack, known),
        *_advised_variables(stack.notes, known.matrix),
        *_variables_to_unset(stack, stack_judge),
    ]
    if stack_judge.machine.probed:
        found += variables_of(remaining(stack, stack_judge), stack_judge.machine, known.matrix)
    return tuple({v.name: v for v in reversed(found)}.values())[::-1]


def _needed_variables(stack: Stack, known: Catalog) -> Iterator[Variable]:
    override = stack.candidate.override
    for name, value in stack.env.items():
        entry = known.matrix.env.get(name)
        of_package = next(((p, r) for p, r in stack.packages.items() if name in r.env), None)
        if override and name == OVERRIDE:
            yield Variable(
                name,
                value,
                f"no wheel here contains code for this GPU; reported of this value: {override.words}",
                override.sources[0],
            )
        elif of_package:
            yield Variable(name, value, of_package[1].env_why, known.packages[of_package[0]].sources[0])
        elif entry:
            yield Variable(name, value, entry.effect, entry.sources[0])


def _advised_variables(notes: tuple[Finding, ...], matrix: Matrix) -> Iterator[Variable]:
    """Settings that a note on this stack recommends, where the catalog knows a reader."""
    for note in notes:
        for name, value in exports(note):
            entry = matrix.env.get(name)
            if entry and entry.exists in READ:
                yield Variable(name, value, note.title, next(iter(note.sources), ""))


def variables_of(findings: Iterable[Finding], machine: Machine, matrix: Matrix) -> tuple[Variable, ...]:
    """What findings say to set and to unset, where the catalog knows a reader and it is not so already. A guess counts for nothing."""
    here = machine.base
    sure = [one for one in findings if one.leads and one.confidence != "low"]
    found = [v for one in sure for v in (*_advised_variables((one,), matrix), *_unsets(one))]
    return tuple(v for v in found if here.get(f"env.{v.name}").value != v.value)


def _unsets(one: Finding) -> Iterator[Variable]:
    yield from (Variable(name, None, one.title, next(iter(one.sources), "")) for name in unset(one))


def _variables_to_unset(stack: Stack, stack_judge: StackJudge) -> Iterator[Variable]:
    machine, matrix = stack_judge.machine, stack_judge.known.matrix
    if machine.probed:
        yield from _set_here(stack, stack_judge)
    elif machine.system == "linux" and OVERRIDE not in stack.env:
        chip = matrix.gfx[machine.gfx]
        bad = next((o for o in chip.overrides if o.verdict in ("harmful", "faulty", "not-needed") and _is_reported(o)), None)
        if bad:
            yield Variable(
                OVERRIDE, None, f"not needed: this torch has {machine.gfx} code. {bad.value}: {bad.words}", bad.sources[0]
            )


def _is_reported(override: Override) -> bool:
    """True if a report names the value: then it may be set in a shell that was not read."""
    return not all(parse_citation(source).published for source in override.sources)


def _set_here(stack: Stack, stack_judge: StackJudge) -> Iterator[Variable]:
    """Variables of this shell that `check` would complain of beside the new stack, and those that nothing reads."""
    machine, matrix = stack_judge.machine, stack_judge.known.matrix
    here = {name: fact for name, fact in machine.base.facts.items() if name.startswith("env.") and isinstance(fact.value, str)}
    facts: dict[str, Fact] = {**here, **stack_facts(stack.candidate, machine, stack.packages, stack.env, stack_judge.known)}
    found, _ = judge(install_stack(machine, facts, stack.packages), Logs(()), matrix, RULES)
    yield from (v for one in found for v in _unsets(one) if f"env.{v.name}" in here and v.name not in stack.env)
    for name in (n.removeprefix("env.") for n in here):
        entry = matrix.env.get(name)
        if entry and entry.exists == "no":
            yield Variable(name, None, f"nothing reads it: {entry.effect}", entry.sources[0])


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
