"""The Python that an environment is installed with: its own, that of the wheels that a list names, or another one that the repository names."""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Environment, Repository, Setting, Target
from rocm_doctor.lint.rules.indexes import admits_python, applies, tagged, tags_of

_PYTHON_VERSION = regex(r"(?:PYTHON|PY)_?VER(?:SION)?")
_SERIES = regex(r"3\.\d+")


def inside(environment: Environment, target: Target) -> Target:
    """The target with the Python of the environment, where it has one of its own."""
    python = environment.python.value if environment.python else ""
    return msgspec.structs.replace(target, python=python) if python[:1].isdigit() else target


def of_its_wheels(environment: Environment, target: Target) -> Setting | None:
    """The Python that the tags of a list's wheels name, where they all name one, it is not the target's, and nothing else says which it is:
    whoever installs the list has that one.
    """
    if environment.sort != "requirements" or environment.python is not None or target.place is not None or not target.python:
        return None
    asked = [r for step in environment.steps for r in step.requirements if applies(r.marker, target) and "$" not in r.url]
    bound = [r for r in asked if tags_of(r.url)[0].startswith("cp3") and "abi3" not in r.url]
    tags = {tags_of(r.url)[0] for r in bound}
    if len(tags) != 1 or any(tagged(r.url, target) for r in bound):
        return None
    own = f"3.{tags.pop()[3:]}"
    fits = all(tagged(r.url, msgspec.structs.replace(target, python=own)) for r in bound)  # not so for another system
    return Setting("python", own, bound[0].place) if fits else None


def has_another_python(environment: Environment, target: Target, repository: Repository) -> bool:
    """True if an environment names no Python, and others of the repository name one that is not the target's."""
    if environment.python is not None or target.place is not None:
        return False
    if any(_is_left_out(s, environment, target) for s in repository.pythons if s.name == REQUIRES_PYTHON):
        return True
    named = [e.python.value for e in repository.environments if e.python]
    named += [s.value for e in repository.environments for s in e.variables if _PYTHON_VERSION.fullmatch(s.name)]
    # Those at the root and of workflows are for all of the repository.
    named += [
        s.value
        for s in repository.pythons
        if "/" not in s.place.file.removeprefix(".github/workflows/") or s.place.file == environment.place.file
    ]
    series = {m[0] for value in named if (m := _SERIES.match(value))}
    return bool(series - {".".join(target.python.split(".")[:2])})


def _is_left_out(allowed: Setting, environment: Environment, target: Target) -> bool:
    """True if the project that an environment's file lies in does not allow the target's Python."""
    folder = allowed.place.file.rpartition("/")[0]
    inside = not folder or environment.place.file.startswith(f"{folder}/")
    return inside and bool(target.python) and not admits_python(allowed.value, target.python)
