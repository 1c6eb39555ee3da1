"""The whole answer to "what should I install?": stacks, variables, reasons, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.known import Known
from rocm_doctor.plan.machine import Machine
from rocm_doctor.plan.nearest import Change, nearest
from rocm_doctor.plan.stacks import Resolver, Stack
from rocm_doctor.plan.variables import Variable, variables


class Plan(msgspec.Struct, frozen=True):
    """`stacks` best first, with the `variables` of the first; when there is none, `nearest` says what would change that."""

    machine: Machine
    wish: tuple[str, ...]
    stacks: tuple[Stack, ...]
    rejected: tuple[Rejected, ...]
    variables: tuple[Variable, ...] = ()
    nearest: tuple[Change, ...] = ()
    matrix_version: str = ""

    @property
    def best(self) -> Stack | None:
        return self.stacks[0] if self.stacks else None

    def alternatives(self, count: int = 3) -> tuple[Stack, ...]:
        """The next ones by rank, and whatever somebody is known to run."""
        others = self.stacks[1:]
        return tuple(s for n, s in enumerate(others) if n < count or s.candidate.known_good)


def answer(machine: Machine, known: Known, wish: Sequence[str] = (), index: str = "") -> Plan:
    """The plan for a machine and a wish. `index`: only stacks whose index or build holds this text."""
    resolver = Resolver(machine, known, wish)
    stacks = tuple(s for s in resolver.stacks() if index in s.candidate.index.url or index in s.candidate.build.local)
    return Plan(
        machine,
        tuple(wish),
        stacks,
        tuple(resolver.rejected),
        variables(stacks[0], resolver.bench) if stacks else (),
        () if stacks else nearest(machine, known, wish, resolver.rejected),
        known.matrix.version,
    )
