"""check, plan, fix and env say the same of a machine: over all fixtures, and on simulated machines by their own commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import simulated

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Report
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import known
from rocm_doctor.plan.judging import exports, unset
from rocm_doctor.plan.machine import probed
from rocm_doctor.plan.text import text
from rocm_doctor.sources.bundle import read

MATRIX = load()
FIXTURES = sorted(
    path.name for path in (Path(__file__).parents[1] / "fixtures").iterdir() if path.is_dir() and path.name != "reports"
)
MACHINES = {name: simulated.described(name) for name in simulated.names()}
on_machines = pytest.mark.skipif(bool(simulated.why_not()), reason=simulated.why_not())


def judged(name: str) -> tuple[Report, Plan | None]:
    """What `check` says of a fixture, and the plan that starts from it; None where no target is known."""
    report = pipeline.judge(read(Path(__file__).parents[1] / "fixtures" / name), MATRIX)
    machine = probed(report.snapshot)
    return report, answer(machine, known(MATRIX), report=report) if machine else None


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
    named = {one.fingerprint for one in plan.elsewhere}
    settings = {variable.name for variable in plan.variables}
    for one in roots(report):
        variables = {*(name for name, _ in exports(one)), *unset(one)}
        assert one.fingerprint in named or not plan.keeps or variables & settings, (one.id, one.title)
        assert one.fingerprint not in named or one.title in " ".join(words.split())


@pytest.fixture(scope="module")
def roots_of_machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


def on(name: str, command: str, built: dict[str, Path], tmp: pytest.TempPathFactory) -> Any:
    if name not in built:
        built[name] = simulated.build(MACHINES[name], tmp.mktemp(name))
    return simulated.run(built[name], MACHINES[name], command)


@on_machines
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MACHINES))
def test_the_commands_agree_on_a_machine(
    name: str, roots_of_machines: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def run(command: str) -> Any:
        return on(name, command, roots_of_machines, tmp_path_factory)

    check = json.loads(run("rocm-doctor check --no-smoke --format json").stdout)
    plan, env = run("rocm-doctor plan"), run("rocm-doctor env")
    ready = check["verdict"] == "ready"
    assert plan.stdout.startswith("What you have works") == ready, plan.stdout[:300]
    if ready:
        fix = run("rocm-doctor fix --apply")
        assert (plan.returncode, fix.returncode, env.returncode) == (0, 0, 0)
        assert fix.stdout == plan.stdout, "fix does nothing where all works"
    assert all(done.returncode in (0, 1) for done in (plan, env, run("rocm-doctor fix")))


@on_machines
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MACHINES))
def test_every_command_that_is_printed_ends_as_promised(
    name: str, roots_of_machines: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Our own commands are run, without --apply; of the others the shell has to understand the line. None ends in wrong usage."""

    def run(command: str) -> Any:
        return on(name, command, roots_of_machines, tmp_path_factory)

    lines = [
        line.strip().removeprefix("$ ")
        for command in ("check --no-smoke", "plan", "env", "fix")
        for line in run(f"rocm-doctor {command}").stdout.splitlines()
        if re.match(r" *\$ |  +(rocm-doctor|pip|python\S*|export|unset|echo|sudo) ", line)
    ]
    for line in dict.fromkeys(lines):
        if line.startswith("rocm-doctor "):
            if line.startswith("rocm-doctor smoke"):
                continue  # minutes, and tests/test_smoke_cli.py runs it
            done = run(line.replace(" --apply", "") + (" --no-smoke" if line.startswith("rocm-doctor check") else ""))
            assert done.returncode in (0, 1), (line, done.stdout, done.stderr)
        else:
            assert run(f"sh -n -c {shlex.quote(line)}").returncode == 0, line
