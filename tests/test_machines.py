"""The commands on simulated live machines, as a user types them: each prints what tests/machines expects, and they agree."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import simulated

pytestmark = pytest.mark.skipif(bool(simulated.why_not()), reason=simulated.why_not())

COMMANDS = {
    "check": "rocm-doctor check --no-smoke -q",
    "plan": "rocm-doctor plan",
    "fix": "rocm-doctor fix",
    "env": "rocm-doctor env",
    "fit": "rocm-doctor fit --model qwen2.5-7b --fast",
}
"""What a key of `expect` stands for; other keys are commands themselves."""


NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (n % 36 > 0)) for n, name in enumerate(simulated.names())]
"""Every 36th machine by default: each takes a second or two."""


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_on_a_machine(name: str, tmp_path: Path) -> None:
    """Each prints first what the machine expects. plan, fix and env cure what check finds or name it; where check is content they do
    nothing; and every line that one of them prints can be typed there. Our own commands are run, without --apply; of the others a
    shell has to understand the line."""
    machine = simulated.described(name)
    with simulated.Shell(simulated.build(machine, tmp_path), machine) as shell:
        _agree(machine, shell.run)


def _agree(machine: simulated.Machine, run: Callable[[str], subprocess.CompletedProcess[str]]) -> None:
    for command, expected in machine.expect.items():
        ran = run(COMMANDS.get(command, command))
        printed = " ".join((ran.stdout if ran.stdout.strip() else ran.stderr).split())
        pattern = ".*".join(re.escape(part) for part in expected.split("*"))
        assert re.match(pattern, printed), f"{machine.about}\n{command}\n{printed[:300]}\n{ran.stderr[-2000:]}"
        assert ran.returncode == machine.exits.get(command, 1 if expected.startswith("✗") else 0), command

    check = run("rocm-doctor check --no-smoke --no-redact --format json --format text")
    report, end = json.JSONDecoder().raw_decode(check.stdout)
    plan, fix, env = (run(COMMANDS[command]) for command in ("plan", "fix", "env"))
    ready = report["verdict"] == "ready"
    assert plan.stdout.startswith("What you have works") == ready, plan.stdout[:300]
    if ready:
        assert run("rocm-doctor fix --apply").stdout == plan.stdout, "fix does nothing where all works"
        assert (plan.returncode, env.returncode) == (0, 0)
    said = " ".join((plan.stdout + plan.stderr).split())
    for one in report["findings"]:
        if one["severity"] != "note" and not one["follows_from"]:
            named = (one["title"], *(command["run"] for command in one["commands"]))
            assert " install " in said or any(words in said for words in named) or plan.returncode == 1, one["title"]
    printed = "\n".join((check.stdout[end:], *(text for done in (plan, fix, env) for text in (done.stdout, done.stderr))))
    for line in dict.fromkeys(_typed(printed)):
        if re.search(r"--python \.venv[-/]", line):
            continue  # the environment that the lines before it make
        if line.startswith("rocm-doctor ") and not line.startswith("rocm-doctor smoke"):  # minutes: tests/test_smoke_cli.py
            own = line.replace(" --apply", "").replace("--gpu NAME", "--gpu gfx1100")
            done = run("rocm-doctor check --no-smoke -q" if own == "rocm-doctor check" else own)
            assert done.returncode in (0, 1), (line, done.stdout, done.stderr)
        else:
            assert subprocess.run(["sh", "-n", "-c", line], check=False).returncode == 0, line


def _typed(text: str) -> list[str]:
    """The lines that a person is given to type."""
    found = (line.strip().removeprefix("$ ") for line in text.splitlines() if _COMMAND.match(line))
    return [line for line in found if not line.startswith("rocm-doctor 0")]


_COMMAND = re.compile(r" *\$ |  +(rocm-doctor|pip|python\S*|export|unset|echo|sudo|wget|ls) ")
