"""A GPU in short: does torch run on it, on which systems, and what to type."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Verdict
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import System, load_catalog
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.text import commands

PYTHON = "3.12"
"""The version that the site plans for."""
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The version that runs the doctor, for which `plan` plans, too."""
TITLES: dict[System, str] = {"linux": "Linux", "windows": "Windows", "wsl": "WSL"}

Answer = Literal["Yes", "Partly", "No"]
STATES: dict[Answer, Verdict] = {"Yes": "ready", "Partly": "undetermined", "No": "problems"}
"""The colour of an answer on the site."""


def answers(gfx: str, matrix: Matrix, wish: Sequence[str] = (), python: str = PYTHON) -> dict[System, Plan]:
    """The plan of a target for each system and this version of Python; made once for a matrix."""
    cached, asked = matrix.once(_no_answers), (gfx, tuple(wish), python)
    if asked not in cached:
        catalog = load_catalog(matrix)
        cached[asked] = {name: answer(declare_machine(gfx, python, matrix, name), catalog, wish) for name in TITLES}
    return cached[asked]


def _no_answers(matrix: Matrix) -> dict[tuple[str, tuple[str, ...], str], dict[System, Plan]]:
    """An empty table for the answers made with a matrix (see Matrix.once)."""
    return {}


def stack_words(plan: Plan) -> str:
    """The first stack in a few words; `nothing known`."""
    return f"{plan.best.name} ({plan.best.grade})" if plan.best else "nothing known"


def first_plan(plans: Mapping[System, Plan]) -> Plan | None:
    """The plan of the first system on which something works; None if there is none."""
    return next((plan for plan in plans.values() if plan.best), None)


def verdict(plans: Mapping[System, Plan]) -> Answer:
    """Yes: a released torch is published with this GPU's code for some system; Partly: a nightly, an override or a user's report is all
    there is."""
    stacks = [plan.best for plan in plans.values() if plan.best]
    released = (stack for stack in stacks if stack.candidate.override is None and not stack.candidate.index.nightly)
    return "Yes" if any(stack.grade in ("official", "upstream") for stack in released) else "Partly" if stacks else "No"


def install_lines(plans: Mapping[System, Plan]) -> tuple[str | Command, ...]:
    """The commands of the first plan with a word on its system; what would change where there is none."""
    plan = first_plan(plans)
    if plan is None or plan.best is None:
        changes = dict.fromkeys(f"{change.what}: {change.then}" for plan in plans.values() for change in plan.nearest)
        return (*list(changes)[:3],) or ("nothing is known to work, and no similar setup either",)
    lines = (line if line.startswith("#") else Command(line) for line in commands(plan, plan.best, "pip"))
    return (f"on {TITLES[plan.machine.system]}, Python {plan.machine.python}:", *lines)
