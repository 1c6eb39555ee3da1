"""The commands on simulated live machines, as a user types them: tests/machines says what each prints first."""

from __future__ import annotations

import json
import re
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
MACHINES = {name: simulated.described(name) for name in simulated.names()}
EXPECTED = [(name, command) for name, machine in MACHINES.items() for command in machine.expect]

Root = Callable[[str], Path]


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """The root of a machine by its name, built when it is first asked for."""
    built: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in built:
            built[name] = simulated.build(MACHINES[name], tmp_path_factory.mktemp(name))
        return built[name]

    return of


@pytest.mark.parametrize(("name", "command"), EXPECTED)
def test_first_line(name: str, command: str, root: Root) -> None:
    machine = MACHINES[name]
    ran = simulated.run(root(name), machine, COMMANDS.get(command, command))
    printed = " ".join((ran.stdout if ran.stdout.strip() else ran.stderr).split())
    expected = machine.expect[command]
    pattern = ".*".join(re.escape(part) for part in expected.split("*"))
    assert re.match(pattern, printed), f"{machine.about}\n{printed[:300]}\n{ran.stderr[-2000:]}"
    assert ran.returncode == machine.exits.get(command, 1 if expected.startswith("✗") else 0)


SICK = [name for name, machine in MACHINES.items() if not machine.expect.get("check", "✓").startswith("✓")]


@pytest.mark.parametrize("name", SICK)
def test_every_command_of_ours_that_check_prints_runs_there(name: str, root: Root) -> None:
    """The doctor's own commands: each ends with an answer, and none as a mistake of the person who typed it."""
    machine = MACHINES[name]
    report = json.loads(simulated.run(root(name), machine, "rocm-doctor check --no-smoke --no-redact --format json").stdout)
    printed = [c["run"] for f in report["findings"] for c in (*f.get("commands", ()), *f.get("verify", ()), f.get("settle")) if c]
    ours = dict.fromkeys(
        text for text in printed if text.startswith("rocm-doctor ") and " smoke" not in text and "--apply" not in text
    )
    ran = {text: simulated.run(root(name), machine, text) for text in ours}
    assert {text: one.stderr for text, one in ran.items() if one.returncode not in (0, 1) or "Traceback" in one.stderr} == {}
