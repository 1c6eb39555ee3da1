"""The torch to propose for a target inside the range that a project allows, by the same ranking as `plan`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Target
from rocm_doctor.lint.rules.indexes import admits, meant, pinned, wanted
from rocm_doctor.lint.rules.requires_torch import COMPANIONS, pinning
from rocm_doctor.lint.rules.torch_state import image_facts, of_image
from rocm_doctor.matrix import Matrix
from rocm_doctor.plan.candidates import Candidate
from rocm_doctor.plan.catalog import System, known
from rocm_doctor.plan.commands import torch_requirements
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.stacks import Resolver, Stack


class Proposal:
    """A stack of `plan` as requirement lines, with the index that they come from. `leaves`: a pinned version that it does not meet."""

    def __init__(self, stack: Stack, lines: Sequence[str], leaves: str) -> None:
        build = stack.candidate.build
        self.index = stack.candidate.index.url
        self.version = build.torch
        self.rocm = build.rocm
        self.triton = build.triton
        self.lines = tuple(lines)
        self.leaves = leaves

    @property
    def by_name(self) -> dict[str, str]:
        """The requirement lines by the names of their packages."""
        return {re.split(r"[=\[]", line)[0]: line for line in self.lines}

    @property
    def arguments(self) -> str:
        """The requirements as words of a shell command."""
        return " ".join(map(shlex.quote, self.lines))


_SYSTEMS: dict[str, System] = {"linux": "linux", "windows": "windows", "wsl": "wsl"}


def proposal(
    environment: Environment, target: Target, matrix: Matrix, *, python: str = "", outside: bool = False
) -> Proposal | None:
    """The best stack that the environment's own ranges of torch admit, with the companions that its repository asks for; None
    where there is none. A pinned version is met where a build of it serves the GPU, else by the nearest one; of several by the pinned build.

    A repository is for many GPUs: an index with a package for each GPU comes last. `python`: another one than that of the environment. `outside`: the ranges do not count.
    """
    if not target.gpu or target.os not in _SYSTEMS:
        return None
    system = _SYSTEMS[target.os]
    python = ".".join((python or _python(environment) or target.python).split(".")[:2])
    ranges, pin, locked = ([], "", False) if outside else _ranges(environment, target, matrix)
    builds = {r.spec.lstrip("= ") for step in environment.steps for r in wanted(step, target) if r.spec}
    series = versions.series(target.rocm) if target.rocm else None

    asked = [r for step in environment.steps for r in (*step.requirements, *step.constraints)]
    named = {*environment.companions, *(r.name for r in asked)}
    named |= set(COMPANIONS) if of_image(environment.image) else set()

    def order(one: Candidate) -> tuple[Any, ...]:
        other = series is not None and versions.series(one.build.rocm) != series
        lacking = sum(name in named and not getattr(one.build, name) for name in COMPANIONS)
        distance = _distance(one.build.torch, pin)
        # A release that not every kernel runs comes after those that all do, but for the one that is pinned.
        bound = distance[0] > 0 and matrix.needs_a_kernel(target.gpu, one.build.rocm)
        return other, bound, distance, lacking, one.build.local not in builds, one.index.extras

    stacks = _stacks(target.gpu, python, system, target.driver, id(matrix), _Held(matrix))
    best = stacks.first(order, lambda one: all(admits(spec, one.build.torch) for spec in ranges))
    if best is None:
        return None
    lines = torch_requirements(best.candidate, declared(target.gpu, python, matrix, system))
    lines = [line for line in lines if not line.startswith(COMPANIONS) or line.split("=")[0].split("[")[0] in named]
    return Proposal(best, lines, "" if locked or best.candidate.build.torch == pin else pin)


def _distance(version: str, pin: str) -> tuple[int, int, int]:
    """How far a release is from a pinned one: the same, one of its series, a newer one, an older one."""
    if not pin or version == pin:
        return 0, 0, 0
    (major, minor), (own, other) = (tuple(map(int, re.findall(r"\d+", v + ".0")[:2])) for v in (version, pin))
    apart = (major - own) * 100 + minor - other
    return (1 if apart == 0 else 2 if apart > 0 else 3), abs(apart), 0 if version > pin else 1


class _Stacks:
    """The stacks of a machine, best first, each judged when it is asked for."""

    def __init__(self, resolver: Resolver) -> None:
        self._candidates = resolver.candidates
        self._more = resolver.stacks()
        self._judged: list[Stack] = []

    def __iter__(self) -> Iterator[Stack]:
        yield from self._judged
        for one in self._more:
            self._judged.append(one)
            yield one

    def first(self, order: Callable[[Candidate], tuple[Any, ...]], admitted: Callable[[Candidate], bool]) -> Stack | None:
        """The stack that comes first by `order` among those admitted; of several the best. None where there is none."""
        fit = [order(one) for one in self._candidates if admitted(one)]
        if not fit:
            return None
        lowest = min(fit)
        judged = []
        for one in filter(lambda one: admitted(one.candidate), self):
            if order(one.candidate) == lowest:
                return one
            judged.append(one)
        return min(judged, key=lambda one: order(one.candidate), default=None)


@lru_cache(maxsize=64)
def _stacks(gfx: str, python: str, system: System, driver: str, _matrix: int, held: _Held) -> _Stacks:
    return _Stacks(Resolver(declared(gfx, python, held.matrix, system, driver), known(held.matrix)))


class _Held:
    """A matrix as an argument that is not hashed: its id is."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


def _python(environment: Environment) -> str:
    value = environment.python.value if environment.python else ""
    if value[:1].isdigit():
        return value
    return image_facts(environment.image.value).get("python", "") if environment.image else ""


def _ranges(environment: Environment, target: Target, matrix: Matrix) -> tuple[list[str], str, bool]:
    """The ranges of torch that the environment asks for, the last version that it pins, and whether a lock does, which can be made again."""
    asked = [
        (r.spec, step.tool == "lock") for step in environment.steps for r in (*step.requirements, *step.constraints)
        if r.name == "torch" and meant(r, target) and r.spec and "$" not in r.spec
    ]  # fmt: skip
    asked += [
        (f"=={torch}", False)
        for step in environment.steps
        for _, torch in pinning(step.requirements, matrix)
        if not any(map(pinned, dict(asked)))
    ]
    pins = [(version, locked) for spec, locked in asked if (version := pinned(spec)) and versions.parse(version)]
    version, locked = pins[-1] if pins else ("", False)
    return [spec for spec, _ in asked if not pinned(spec)], version, locked
