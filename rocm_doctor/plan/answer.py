"""The whole answer to "what should I install?": stacks, variables, reasons, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rocm_doctor.commands import distributions_of, fitting
from rocm_doctor.model import Command
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.plan.nearest import Change, nearest
from rocm_doctor.plan.newer import Newer, next_newer
from rocm_doctor.plan.stacks import Resolver, Stack
from rocm_doctor.plan.steps import steps
from rocm_doctor.plan.variables import Variable, variables
from rocm_doctor.rules.driver_range import driver_release


class Plan(msgspec.Struct, frozen=True):
    """`stacks` best first, with the `variables` of the first; when there is none, `nearest` says what would change that."""

    machine: Machine
    wish: tuple[str, ...]
    stacks: tuple[Stack, ...]
    rejected: tuple[Rejected, ...]
    variables: tuple[Variable, ...] = ()
    nearest: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    matrix_version: str = ""
    steps: tuple[Step, ...] = ()
    newer: Newer | None = None

    @property
    def best(self) -> Stack | None:
        """The first stack; None if nothing is known to work."""
        return self.stacks[0] if self.stacks else None

    def _repr_html_(self) -> str:
        """The plan in a notebook."""
        from rocm_doctor.plan.html import part

        return part(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The plan in IPython's terminal."""
        from rocm_doctor.plan.text import text

        printer.text(text(self))

    def alternatives(self, count: int = 3) -> tuple[Stack, ...]:
        """The next by rank, then the next with a report of a run: at most `count` of each, one for each ROCm and index."""
        first = {_kind(stack): stack for stack in reversed(self.stacks)}
        others = sorted((s for s in first.values() if s is not self.best), key=self.stacks.index)
        return (*others[:count], *[s for s in others[count:] if s.candidate.known_good][:count])


def _remarks(machine: Machine, known: Catalog, wish: Sequence[str]) -> Iterator[str]:
    """What could not be taken into account, and what comes from elsewhere."""
    for name in wish:
        if known.packages[name].elsewhere:
            yield f"{name}: {known.packages[name].elsewhere} ({known.packages[name].sources[0]})"
    if machine.driver not in ("", INBOX) and machine.system == "linux" and not driver_release(machine.driver, known.matrix):
        yield f"driver module {machine.driver} is not in the catalog; the driver was not checked"
    if not machine.python:
        yield "the Python version is unknown; it was not checked against the wheels"


def _kind(stack: Stack) -> tuple[str, str]:
    return stack.candidate.build.rocm, stack.candidate.index.url


def answer(machine: Machine, known: Catalog, wish: Sequence[str] = (), index: str = "") -> Plan:
    """The plan for a machine and a wish. `index`: only stacks whose index or build holds this text."""
    resolver = Resolver(machine, known, [name for name in wish if not known.packages[name].elsewhere])
    stacks = tuple(s for s in resolver.stacks() if index in s.candidate.index.url or index in s.candidate.build.local)
    rejected = tuple(resolver.rejected)
    return Plan(
        machine,
        tuple(wish),
        stacks,
        rejected,
        variables(stacks[0], resolver.stack_judge) if stacks else (),
        () if stacks else nearest(resolver),
        tuple(_remarks(machine, known, wish)),
        known.matrix.version,
        (*_first(resolver), *(() if machine.probed else steps(stacks[0].candidate.build, machine, known))) if stacks else (),
        None if index else next_newer(stacks, rejected, resolver),
    )


_SYSTEM = ("access.", "version.kernel", "version.firmware", "version.driver", "platform.")
"""Beginnings of the diagnoses that no package of Python mends."""


def _first(resolver: Resolver) -> Iterator[Step]:
    """What is wrong with the machine itself, as `check` has it: each before anything is installed."""
    judge = resolver.stack_judge
    for one in judge.of_machine:
        if one.severity != "note" and not one.follows_from and one.id.startswith(_SYSTEM):
            words = f"{one.title}: {one.advice}" if one.advice else one.title
            commands = _fitting(one.commands, judge.machine)
            checked = judge.known.matrix.diagnoses[one.id].checked
            yield Step(one.row or one.id, (judge.machine.system,), words, one.sources, one.grade, checked, commands=commands)


def _fitting(commands: Sequence[Command], machine: Machine) -> tuple[str, ...]:
    """The commands for the machine's system. A step has no remark `on Ubuntu`: those of a distribution need its name to be known."""
    os_name = str(machine.base.get("os").value or "") if machine.base.get("os").known else ""
    system = "windows" if machine.system == "windows" else "linux"
    known = distributions_of(os_name, machine.kernel)
    return tuple(c.text for c in fitting(commands, system, os_name, machine.kernel) if known or not c.distributions)
