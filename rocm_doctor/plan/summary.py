"""A GPU in short: does torch run on it, on which systems, and what to type."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

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
SYSTEMS: tuple[System, ...] = ("linux", "windows", "wsl")
TITLES = {"linux": "Linux", "windows": "Windows", "wsl": "WSL"}

Answer = Literal["Yes", "Partly", "No"]
STATES: dict[Answer, Verdict] = {"Yes": "ready", "Partly": "undetermined", "No": "problems"}
"""The colour of an answer on the site."""


class Plans(NamedTuple):
    """The plan of a GPU on each system."""

    of: dict[System, Plan]

    @property
    def first(self) -> Plan | None:
        """The plan of the first system on which something works."""
        return next((plan for plan in self.of.values() if plan.best), None)

    def words(self) -> list[tuple[str, str]]:
        """For each system its stack, or that none is known."""
        return [(TITLES[name], stack_words(plan)) for name, plan in self.of.items()]

    def sources(self) -> tuple[str, ...]:
        """Who says that the first stack works."""
        plan = self.first
        return tuple(dict.fromkeys(one.source for one in plan.best.candidate.said)) if plan and plan.best else ()


def answers(gfx: str, matrix: Matrix, wish: Sequence[str] = (), python: str = PYTHON) -> Plans:
    """The plans of a target on every system for a version of Python."""
    known, asked = matrix.once(_no_answers), (gfx, tuple(wish), python)
    if asked not in known:
        catalog = load_catalog(matrix)
        known[asked] = Plans({name: answer(declare_machine(gfx, python, matrix, name), catalog, wish) for name in SYSTEMS})
    return known[asked]


def _no_answers(matrix: Matrix) -> dict[tuple[str, tuple[str, ...], str], Plans]:
    """The answers that were made with a matrix, none at first."""
    return {}


def stack_words(plan: Plan) -> str:
    """The first stack in a few words; `nothing known`."""
    return f"{plan.best.name} ({plan.best.grade})" if plan.best else "nothing known"


def verdict(plans: Plans) -> Answer:
    """Yes: a released torch is published with this GPU's code for some system; Partly: a nightly, an override or a user's report is all
    there is."""
    found = [plan.best for plan in plans.of.values() if plan.best]
    for one in found:
        if one.candidate.override is None and one.grade in ("official", "upstream") and not one.candidate.index.nightly:
            return "Yes"
    return "Partly" if found else "No"


def installing(plans: Plans) -> tuple[str | Command, ...]:
    """The commands of the first plan with a word on its system; what would change where there is none."""
    plan = plans.first
    if plan is None or plan.best is None:
        changes = dict.fromkeys(f"{one.what}: {one.then}" for plan in plans.of.values() for one in plan.nearest)
        return (*list(changes)[:3],) or ("nothing is known to work, and no similar setup either",)
    lines = commands(plan, plan.best, "pip")
    return (
        f"on {TITLES[plan.machine.system]}, Python {plan.machine.python}:",
        *(line if line.startswith("#") else Command(line) for line in lines),
    )
