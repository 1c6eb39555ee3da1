"""Packages that bring a torch of their own in the place of the one that is there, and how to have them on ROCm."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.cuda_only import cuda_only_packages
from rocm_doctor.lint.rules.indexes import Torch, admits, is_rebuild, marked, meant
from rocm_doctor.lint.rules.requires_torch import NO_TORCH, is_open, requires_torch, torch_of
from rocm_doctor.lint.rules.torch_state import Change, last_state
from rocm_doctor.matrix import Matrix


def replacing(environment: Environment, target: Target, matrix: Matrix) -> tuple[list[Requirement], Torch | None]:
    """All packages that require one exact torch and put it in, the first installed first, and the torch that is there without them."""
    found: list[Requirement] = []
    left, state = environment, last_state(environment, matrix, target)
    while state is not None and state[2].build in ("cuda", "cpu") and (one := _bringing(state)) is not None:
        found.append(one)
        left = _without(left, one.name)
        state = last_state(left, matrix, target)
    order = [r.name for step in environment.steps for r in step.requirements]
    return sorted(found, key=lambda r: order.index(r.name)), state[2] if state and found else None


def _bringing(state: Change) -> Requirement | None:
    """The package that brings the torch that counts, and no other one."""
    step, _, last = state
    asked = step.requirements if step else ()
    return next((r for r in asked if r.place == last.place and last.why.startswith(f"{r.name} requires one exact torch")), None)


def with_own_torch(step: Step, target: Target, matrix: Matrix) -> list[Requirement]:
    """The packages of a step that require one exact torch in each release: which one that is changes with the release."""
    known = requires_torch(matrix)
    asked = step.requirements if not step.no_deps else ()
    always = known.exact - known.newest.keys()
    return [r for r in asked if r.name in always and is_open(r.spec) and not r.url and not is_rebuild(r) and meant(r, target)]


def with_torch_of_its_release(step: Step, torch: str, target: Target, matrix: Matrix) -> list[Requirement]:
    """The pinned packages of a step each release of which requires one torch, where that is not known to be this one."""
    known = requires_torch(matrix)
    asked = [r for r in marked(step.requirements, target) if r.name in known.exact and not is_open(r.spec) and not r.url]
    needs = {r: torch_of(r, step, matrix, target) for r in asked if not step.no_deps}
    return [r for r, spec in needs.items() if spec != NO_TORCH and not (spec and admits(spec, torch))]


def _without(environment: Environment, name: str) -> Environment:
    steps = (
        msgspec.structs.replace(step, requirements=tuple(r for r in step.requirements if r.name != name))
        for step in environment.steps
    )
    return msgspec.structs.replace(environment, steps=tuple(steps))


def way(packages: Sequence[Requirement], matrix: Matrix) -> str:
    """How to have them: a torch that is installed first does not stay beside them. Empty where it is not known."""
    known = cuda_only_packages(matrix)
    names = list(dict.fromkeys(r.name for r in packages))
    if not names or any(name not in known or not known[name].way for name in names):
        return ""
    own = "in an environment of its own, because it brings its own torch"
    if len(names) == 1:
        return f"Do not install {names[0]} from the package index. On ROCm: {known[names[0]].way}; {own}."
    ways = " ".join(f"{name} on ROCm: {known[name].way}." for name in names)
    return f"Do not install {', '.join(names[:-1])} and {names[-1]} from the package index. {ways} Each belongs {own}."
