"""`rocm-doctor fix`: build the environment of a plan beside the old one, check it, and say how to switch."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from packaging.utils import canonicalize_name

from rocm_doctor import pipeline
from rocm_doctor.cli.delivery import Reporting
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix
from rocm_doctor.cli.machine import live
from rocm_doctor.cli.plan import plan_options, read_request
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import Argv, Tool, install, replacements
from rocm_doctor.plan.environment import EnvironmentProblem, PythonEnvironment, read_environment
from rocm_doctor.plan.fix import SHELL, VARIABLES, build, recipe, tool_here, venv_python
from rocm_doctor.plan.formats import render
from rocm_doctor.plan.frameworks import FrameworkPlan
from rocm_doctor.plan.machine import cuda_packages
from rocm_doctor.plan.text import blocking_packages, headline, undecided_lines
from rocm_doctor.plan.variables import variable_lines
from rocm_doctor.sources.live.python import own_is_active


@click.command(
    epilog="Examples:  rocm-doctor fix;  rocm-doctor fix --apply;  rocm-doctor fix --python .venv --train lora --apply"
)
@plan_options
@click.option("--apply", "go", is_flag=True, help="Run the commands; without it they are only printed.")
@click.option("-v", "--verbose", is_flag=True, help="Print why each other build was rejected, where nothing is to be built.")
def command(go: bool, verbose: bool, **asked: Any) -> None:
    """Build the stack that `plan` puts first in a new environment, .venv-rocm beside the examined one, check it, and say how to switch.

    The examined environment is never changed. The new one gets your other packages at their versions. Drivers and system files
    are never touched, and nothing is done where what you have works (--upgrade builds all the same).
    """
    try:
        sys.exit(_fix(go, verbose, asked))
    except EnvironmentProblem as exc:
        raise InputError(f"{exc}; the environment that was examined is as it was") from exc


def _fix(go: bool, verbose: bool, asked: dict[str, Any]) -> int:
    python = interpreter(asked["python"])
    old = read_environment(python or sys.executable)
    request = read_request(**{**asked, "python": python or (old.version if asked["gpu"] else None)})
    users = bool(python) or own_is_active(os.environ)
    codes = []
    for plan in request.plans():
        if not plan.builds and not (asked["upgrade"] and isinstance(plan, Plan) and plan.best):
            click.echo(render("text", plan, verbose=verbose), nl=False)
            if isinstance(plan, FrameworkPlan) and plan.has_answer and not plan.works:
                click.echo(
                    f"Nothing is built: {'what you have may work' if plan.undecided else 'the release comes as an image'}."
                )
            codes.append(0 if plan.has_answer else 1)
            continue
        inside = users and old.prefix != old.base  # a venv; a system's Python and a conda environment have no base beside them
        new = Path(old.prefix).with_name(plan.folder) if inside else Path(plan.folder).absolute()
        examined = old if users else msgspec.structs.replace(old, packages=())
        if cuda := cuda_packages(request.machine, request.known.matrix):
            left = [
                f"{package.name} {package.version}" for package in examined.packages if canonicalize_name(package.name) in cuda
            ]
            if left:
                click.echo(f"not carried over, as it is for CUDA: {', '.join(left)}")
            kept = tuple(package for package in examined.packages if canonicalize_name(package.name) not in cuda)
            examined = msgspec.structs.replace(examined, packages=kept)
        codes.append(_fix_one(plan, examined, new, go, not asked["gpu"]))
    return max(codes)


def _fix_one(plan: Plan | FrameworkPlan, old: PythonEnvironment, new: Path, go: bool, here: bool) -> int:
    """Print the commands of one new environment, or run them and check it; `here`: it is for this machine."""
    tool = tool_here()
    made = recipe(plan, old, new, tool)
    if isinstance(plan, Plan):
        _announce(plan, old, new, tool)
    else:
        click.echo(f"{plan.headline}, in {new}\n{old.prefix} stays as it is.")
    if go:
        left = build(made, new, tool, lambda line: click.echo(line, err=True))
        for variable in made.variables:  # check and its smoke test run as the new environment is to be used
            os.environ.pop(variable.name, None)
            os.environ.update({variable.name: variable.value} if variable.value is not None else {})
        return _finish(here, old, new, left, bool(made.variables))
    _print(made.commands)
    for line in made.carried:
        click.echo(f"      {line}")
    if made.variables:
        click.echo(f"Then set these variables (--apply writes them into {new / VARIABLES}):")
        for line in variable_lines(made.variables, SHELL):
            click.echo(f"  {line}")
    click.echo("Nothing was run; --apply builds the new environment.")
    return 0


def _print(commands: list[Argv]) -> None:
    for words in commands:
        click.echo(f"  $ {shlex.join(words)}")


def _announce(plan: Plan, old: PythonEnvironment, new: Path, tool: Tool) -> None:
    for line in (*undecided_lines(plan), *blocking_packages(plan)):
        click.echo(line)
    click.echo(f"{headline(plan)}, in {new}")
    assert plan.best is not None
    for line in replacements(plan.best, plan.machine):
        click.echo(f"  {line}")
    click.echo(f"{old.prefix} stays as it is.")
    for title in dict.fromkeys(one.title for one in plan.by_hand):
        click.echo(f"  to do by hand: {title} (see rocm-doctor check)")
    if plan.machine.has_build(plan.best.candidate.build):
        click.echo(f"A new environment is not needed: this in {old.prefix} does the same:")
        _print(install(plan.best, plan.machine, tool, old.executable, plan.drop))
        click.echo("With --apply a new one is built beside it all the same, so that this one stays:")


def _finish(probed: bool, old: PythonEnvironment, new: Path, left: list[str], variables: bool = False) -> int:
    """Check the new environment, and say how to switch to it. 0 ready, 1 `check` finds an error there."""
    for line in left:
        click.echo(f"not carried over, as it could not be installed: {line}")
    program = str(venv_python(new))
    artifacts = live(program, smoke=probed)
    report = pipeline.judge(artifacts, load_matrix())
    Reporting().deliver([report])
    code = Reporting().exit_code(report) if probed else 0
    activate = f"{new}\\Scripts\\activate" if sys.platform == "win32" else f"source {shlex.quote(str(new))}/bin/activate"
    click.echo(f"\nThe new environment is in {new}; {old.prefix} is as it was. To use it:\n  $ {activate}")
    if variables:
        click.echo(f"  $ . {shlex.quote(str(new / VARIABLES))}")
    return code
