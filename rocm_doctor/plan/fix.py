"""Build the environment of a plan beside the old one, which is never touched: killed at any moment, it is as it was.

A folder that was left unfinished holds the file UNFINISHED and is made anew.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rocm_doctor.model import Shell
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import Argv, Tool, install, verbs
from rocm_doctor.plan.environment import EnvironmentProblem, PythonEnvironment
from rocm_doctor.plan.frameworks import FrameworkPlan, installs
from rocm_doctor.plan.machine import TORCH
from rocm_doctor.plan.variables import PlanVariable, variable_lines
from rocm_doctor.workers.process import MIB, ChildSpec, make_result, pump, start, stop

UNFINISHED = "rocm-doctor-unfinished"
LIMIT = 3600.0
"""Seconds for one command: a torch wheel has some gigabytes."""
SHELL: Shell = "powershell" if sys.platform == "win32" else "sh"
VARIABLES = "rocm-variables.ps1" if sys.platform == "win32" else "rocm-variables.sh"
"""The file in the new environment that sets the variables of the plan."""
Say = Callable[[str], None]


def tool_here() -> Tool:
    """uv if it is on PATH, else pip."""
    return "uv" if shutil.which("uv") else "pip"


def venv_python(new: Path) -> Path:
    """The interpreter of a virtual environment."""
    return new / "Scripts" / "python.exe" if sys.platform == "win32" else new / "bin" / "python"


class Recipe(NamedTuple):
    """A new environment: the commands, of which the first creates it, the user's packages that go along as lines of a requirements
    file, the pin that pip keeps there (empty: none), and the variables to set before it is used."""

    commands: list[Argv]
    carried: list[str]
    pin: str = ""
    variables: tuple[PlanVariable, ...] = ()


def recipe(plan: Plan | FrameworkPlan, old: PythonEnvironment, new: Path, tool: Tool) -> Recipe:
    """The environment of a plan: its framework first, which pip then does not replace, the user's other packages at their versions, and
    what the plan has beside it. JAX and TensorFlow take the user's packages along where they are in the examined environment."""
    python, pin = str(venv_python(new)), ""
    variables: tuple[PlanVariable, ...] = ()
    if isinstance(plan, FrameworkPlan):
        names = [name for name in old.versions() if name.startswith((plan.framework, "keras", "rocm"))]
        here = plan.framework in old.versions() or f"{plan.framework}-rocm" in old.versions()
        carried = old.packages_to_carry(names, (*TORCH, *names)) if here else []
        first, rest = installs(plan, tool, python), []
    else:
        assert plan.best is not None
        candidate, variables = plan.best.candidate, plan.variables
        pin = f"torch=={candidate.build.local}" if candidate.build.local and not candidate.index.nightly else ""
        carried = old.packages_to_carry([*plan.best.packages, *plan.drop])
        torch, *rest = install(plan.best, plan.fresh, tool, python)
        first = [torch]
    lines = [package.requirement() for package in carried]
    carry = [(*verbs(tool, python)[0], "--no-deps", "-r", str(new / "carried.txt"))] if lines else []
    create = ("uv", "venv", "--python", old.executable, str(new)) if tool == "uv" else (old.executable, "-m", "venv", str(new))
    return Recipe([create, *first, *carry, *rest], lines, pin, variables)


def build(planned: Recipe, new: Path, tool: Tool, say: Say) -> list[str]:
    """Make the new environment; the packages that could not be carried over. Raises EnvironmentProblem, with nothing left behind."""
    if new.exists() and not (new / UNFINISHED).exists():
        raise EnvironmentProblem(f"{new} is there already: use it, or remove it for a new one")
    shutil.rmtree(new, ignore_errors=True)
    try:
        new.mkdir(parents=True)
        (new / UNFINISHED).touch()
        left = _build(planned, new, tool, say)
    except BaseException as exc:
        shutil.rmtree(new, ignore_errors=True)
        if isinstance(exc, OSError):
            raise EnvironmentProblem(str(exc)) from exc
        raise
    (new / UNFINISHED).unlink()
    return left


def _build(planned: Recipe, new: Path, tool: Tool, say: Say) -> list[str]:
    left: list[str] = []
    create, *commands = planned.commands
    _run((*create[:-1], "--allow-existing", create[-1]) if tool == "uv" else create, say)
    (new / "carried.txt").write_text("".join(f"{line}\n" for line in planned.carried), encoding="utf-8")
    for command in commands:
        try:
            _run(command, say)
        except EnvironmentProblem:
            if "carried.txt" not in command[-1]:
                raise
            for line in planned.carried:
                words = line.split(" ", 1) if line.startswith("-e ") else (line,)
                try:
                    _run((*command[: command.index("--no-deps") + 1], *words), say)
                except EnvironmentProblem:
                    left.append(line)
    if planned.pin:
        pins = new / "rocm-pins.txt"
        pins.write_text(f"{planned.pin}\n", encoding="utf-8")
        name = "pip.ini" if sys.platform == "win32" else "pip.conf"
        # pip splits the value at blanks, hence a URL, which has none.
        (new / name).write_text(f"[install]\nconstraint = {pins.absolute().as_uri()}\n", encoding="utf-8")
    if planned.variables:
        written = "".join(f"{line}\n" for line in variable_lines(planned.variables, SHELL))
        (new / VARIABLES).write_text(written, encoding="utf-8")
    return left


def _run(command: Argv, say: Say) -> None:
    """Run a command and say its latest line every two seconds. Raises EnvironmentProblem with its last words if it fails."""
    say(f"$ {shlex.join(command)}")
    child = start(ChildSpec(command, LIMIT, cap=8 * MIB, keep="tail"))
    told = child.started
    try:
        while pump([child], timeout=0.5):
            spoke = child.spoke or child.started
            if spoke - told > 2:
                told = spoke
                say("  " + bytes(child.out[-2000:]).decode("utf-8", "replace").strip().rpartition("\n")[2][:100])
    finally:
        stop(child)
    result = make_result(child)
    if result.returncode != 0:
        raise EnvironmentProblem(f"{shlex.join(command)} failed: {(result.stderr or result.stdout).strip()[-2000:]}")
