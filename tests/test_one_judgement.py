"""check, plan, fix and env say the same of a machine: over all fixtures, and on simulated machines by their own commands."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from pathlib import Path

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


@on_machines
@pytest.mark.parametrize("name", simulated.names())
def test_the_commands_agree_on_a_machine(name: str, tmp_path: Path) -> None:
    """plan, fix and env cure what check finds or name it; where check is content they do nothing; and every line that one of them
    prints can be typed there. Our own commands are run, without --apply; of the others a shell has to understand the line."""
    machine = simulated.described(name)
    root = simulated.build(machine, tmp_path)

    @functools.cache
    def run(command: str) -> subprocess.CompletedProcess[str]:
        return simulated.run(root, machine, f"rocm-doctor {command}")

    check = run("check --no-smoke --no-redact --format json --format text")
    report, end = json.JSONDecoder().raw_decode(check.stdout)
    plan, fix, env = (run(command) for command in ("plan", "fix", "env"))
    ready = report["verdict"] == "ready"
    assert plan.stdout.startswith("What you have works") == ready, plan.stdout[:300]
    if ready:
        assert run("fix --apply").stdout == plan.stdout, "fix does nothing where all works"
        assert (plan.returncode, env.returncode) == (0, 0)
    said = " ".join((plan.stdout + plan.stderr).split())
    for one in report["findings"]:
        if one["severity"] != "note" and not one["follows_from"] and not one["alternative"]:
            assert " install " in said or one["title"] in said or plan.returncode == 1, one["title"]
    printed = (text for done in (plan, fix, env) for text in (done.stdout, done.stderr))
    for line in dict.fromkeys(_typed("\n".join((check.stdout[end:], *printed)))):
        if line.startswith("rocm-doctor ") and not line.startswith(
            "rocm-doctor smoke"
        ):  # minutes: tests/test_smoke_cli.py runs it
            own = line.removeprefix("rocm-doctor ").replace(" --apply", "")
            done = run(own + " --no-smoke" if own.startswith("check") else own)
            assert done.returncode in (0, 1), (line, done.stdout, done.stderr)
        else:
            assert subprocess.run(["sh", "-n", "-c", line], check=False).returncode == 0, line


def _typed(text: str) -> list[str]:
    """The lines that a person is given to type."""
    found = (line.strip().removeprefix("$ ") for line in text.splitlines() if _COMMAND.match(line))
    return [line for line in found if not line.startswith("rocm-doctor 0")]


_COMMAND = re.compile(r" *\$ |  +(rocm-doctor|pip|python\S*|export|unset|echo|sudo|wget|ls) ")
