"""The Python that an environment is installed with: its own, or that of the wheels that a list names."""

from __future__ import annotations

import msgspec

from rocm_doctor.lint.declared import Environment, Setting, Target
from rocm_doctor.lint.rules.indexes import applies, tagged, tags_of


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
