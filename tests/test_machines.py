"""The commands on simulated live machines, as a user types them: tests/machines says what each prints first."""

from __future__ import annotations

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
