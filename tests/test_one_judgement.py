"""check, plan, fix and env say the same of a machine: over all fixtures; on simulated machines by their own commands in test_machines.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.commands import changed_variables
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Report
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.plan.machine import machine_from_snapshot
from rocm_doctor.plan.text import text
from rocm_doctor.sources.bundle import read

MATRIX = load()
FIXTURES = sorted(
    path.name
    for path in (Path(__file__).parents[1] / "fixtures").iterdir()
    if path.is_dir() and path.name not in ("repos", "reports")
)


def judged(name: str) -> tuple[Report, Plan | None]:
    """What `check` says of a fixture, and the plan that starts from it; None where no target is known."""
    report = pipeline.judge(read(Path(__file__).parents[1] / "fixtures" / name), MATRIX)
    machine = machine_from_snapshot(report.snapshot)
    return report, answer(machine, load_catalog(MATRIX), report=report) if machine else None


def roots(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.severity != "note" and one.leads]


@pytest.mark.parametrize("name", FIXTURES)
def test_a_plan_says_of_a_fixture_what_check_says(name: str) -> None:
    """Ready: nothing to do. Else each cause is cured by a command of the plan, or named as what the plan does not mend."""
    report, plan = judged(name)
    if plan is None:
        return
    words = text(plan)
    assert words.startswith("What you have works") == (report.verdict == "ready")
    if report.verdict == "ready" or plan.best is None:
        return
    named = {one.fingerprint for one in plan.by_hand}
    settings = {variable.name for variable in plan.variables}
    reasons = {variable.why for variable in plan.variables}
    for one in roots(report):
        variables = set(changed_variables(one.commands))
        assert one.fingerprint in named or not plan.keeps or variables & settings or one.title in reasons, (one.id, one.title)
        assert one.fingerprint not in named or one.title in " ".join(words.split())
