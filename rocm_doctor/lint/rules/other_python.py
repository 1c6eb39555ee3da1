"""With which other Python, or which other releases, a list can be installed that has no wheels for its Python; what disagrees where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Environment, Requirement, Target
from rocm_doctor.lint.rules.indexes import admits_python, meant, pinned
from rocm_doctor.lint.rules.torch_state import of_image
from rocm_doctor.matrix import Matrix

PYTHONS = ("3.13", "3.12", "3.11", "3.10")
_MANY, _WHOLE, _NEARLY_ALL = 8, 30, 0.8


class Wheels(NamedTuple):
    """A requirement and the Pythons of the catalog for which it has a wheel. `since`: what to ask for instead."""

    required: Requirement
    pythons: tuple[str, ...]
    since: str


def choice(
    environment: Environment,
    target: Target,
    matrix: Matrix,
    asked: Sequence[Wheels],
    missing: Sequence[Wheels],
    *,
    later: bool = False,
) -> str:
    """The advice. `asked`: all that is known of the list; `missing`: what has none for its Python, `later`: because that is too old."""
    named, other = ("releases", "older") if later else ("wheels", "newer")
    own = target.python
    tried = [p for p in (reversed(PYTHONS) if later else PYTHONS) if versions.contains(f"{'>' if later else '<'}{own}", p)]
    fit = [p for p in tried if _is_allowed(p, environment) and all(p in one.pythons for one in asked)]
    served = next((p for p in fit if _torch_without(p, environment, target, matrix) is None), "")
    frozen = next((one.required.place.file for one in missing if is_freeze(one.required.place.file, environment)), "")
    torch = _torch_without(own, environment, target, matrix)
    since = list(dict.fromkeys(one.since for one in missing if one.since))
    use = "take an image with" if of_image(environment.image) else "use"
    ways = [f"{use} Python {served}, for which there are {named}"] if served else []
    ways += [f"ask for {', '.join(since)}"] if since and not frozen and torch is None else []
    if ways:
        words = ", or ".join(ways)
        return f"{words[0].upper()}{words[1:]}."
    if fit:
        lacking = _torch_without(fit[0], environment, target, matrix)
        why = f"There are {named} for Python {fit[0]}, but {_of_torch(lacking, target)}." if lacking else ""
    else:
        why = _disagreement(asked, missing) + (f" {_of_torch(torch, target)}." if torch else "")
    return f"{why} {_again(frozen, other)}"


def _is_allowed(python: str, environment: Environment) -> bool:
    """True if what the project requires of its Python admits one."""
    said = (environment.python, *(step.pythons for step in environment.steps))
    specs = [s.value for s in said if s and s.name == REQUIRES_PYTHON]
    return all(admits_python(spec, python) for spec in specs)


def _torch_without(python: str, environment: Environment, target: Target, matrix: Matrix) -> Requirement | None:
    """The pinned torch that has no ROCm build with code for the GPU and a wheel for a Python, as far as the catalog knows the release."""
    for step in environment.steps:
        for r in step.requirements:
            version = pinned(r.spec) if r.name == "torch" and meant(r, target) and not r.url else ""
            builds = [
                b for b in matrix.torch if b.torch == version and ("+" not in r.spec or b.local in ("", r.spec.strip("= ")))
            ]
            tag = f"cp{python.replace('.', '')}"
            if builds and not any(_has_code(b.gfx, target) and (not b.pythons or tag in b.pythons) for b in builds):
                return r
    return None


def _has_code(built: Sequence[str], target: Target) -> bool:
    return not built or not target.gpu or bool(covers(tuple(built), target.gpu))


def is_freeze(file: str, environment: Environment) -> bool:
    """True if nearly all lines of a long list are pinned, as `pip freeze` writes them: the pins belong together."""
    lines = {r.place.line: r for step in environment.steps for r in step.requirements if r.place.file == file}
    return len(lines) >= _MANY and sum(bool(pinned(r.spec)) for r in lines.values()) >= _NEARLY_ALL * len(lines)


def is_whole_freeze(file: str, environment: Environment) -> bool:
    """True if a list has what others depend on as well, each line pinned: it was written by a tool, and is written again by it."""
    lines = {r.place.line for step in environment.steps for r in step.requirements if r.place.file == file}
    return len(lines) >= _WHOLE and is_freeze(file, environment)


def _disagreement(asked: Sequence[Wheels], missing: Sequence[Wheels]) -> str:
    """What no Python satisfies together."""

    def names(held: Callable[[Wheels], bool], among: Sequence[Wheels]) -> str:
        return ", ".join(dict.fromkeys(f"{one.required.name}{one.required.spec}" for one in among if held(one)))

    nowhere = names(lambda one: not one.pythons, missing)
    if nowhere:
        others = names(lambda one: one not in missing and "3.10" not in one.pythons and bool(one.pythons), asked)
        beside = f" {others} needs a later one than 3.10." if others else ""
        return f"No Python from 3.10 on has a wheel of {nowhere}.{beside}"
    return f"No Python has wheels of all that is pinned: {names(lambda one: len(one.pythons) < len(PYTHONS), asked)}."


def _of_torch(torch: Requirement, target: Target) -> str:
    return f"torch{torch.spec} on {torch.place.words} has no build with code for {target.gpu} there"


def _again(frozen: str, other: str) -> str:
    """What to do with pins that belong together."""
    if frozen:
        return f"{frozen} is a freeze, whose pins belong together: write down what the project imports, and lock that for one Python."
    return f"Ask for {other} releases of all of them together."
