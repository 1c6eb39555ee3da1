"""`rocm-doctor fix`: apply a plan inside a virtual environment, or undo that."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from rocm_doctor.cli.common import InputError
from rocm_doctor.cli.plan import plan_options, planned
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import install, replaces
from rocm_doctor.plan.environment import Environment, EnvironmentProblem, by_name, installed, writable
from rocm_doctor.plan.fix import apply, resume, steps, undo
from rocm_doctor.plan.journal import FOLDER, Run, interrupted, last_run, read_record
from rocm_doctor.plan.text import text


@click.command(
    epilog="Examples:  rocm-doctor fix --train lora;  rocm-doctor fix --python .venv --train lora --apply;  "
    "rocm-doctor fix --python .venv --undo --apply"
)
@plan_options
@click.option("--apply", "go", is_flag=True, help="Run the commands; without it they are only printed.")
@click.option("--dry-run", is_flag=True, help="Print the commands that would run. [default]")
@click.option("--undo", "back", is_flag=True, help="Restore the environment to the state before the last run.")
def command(go: bool, dry_run: bool, back: bool, **asked: Any) -> None:
    """Install the stack that `plan` puts first, in the virtual environment of --python (the current one by default).

    Only pip or uv is run, only inside a virtual environment; drivers and system files are never touched. Everything is downloaded
    before anything is removed, and what was there is kept in the environment's folder rocm-doctor-fix until --undo brings it
    back. A failed or interrupted run brings it back by itself.
    """
    if go and dry_run:
        raise InputError("--apply and --dry-run exclude each other")
    try:
        place = writable(asked["python"] or sys.executable)
        sys.exit(_undo(place, go) if back else _fix(place, go, asked))
    except EnvironmentProblem as exc:
        raise InputError(str(exc)) from exc


def _fix(place: Environment, go: bool, asked: dict[str, Any]) -> int:
    if go:
        resume(place, _say)
    elif interrupted(place):
        click.echo(f"an earlier run was interrupted in {place.prefix}; --apply first brings back what was there before it")
    here = {name: line.partition("==")[2] for name, line in by_name(installed(place)).items() if "==" in line}
    plan = planned(**{**asked, "python": place.version if asked["gpu"] else place.executable}, installed=here)
    if plan.best is None:
        click.echo(text(plan), nl=False)
        return 1
    commands = install(plan.best, plan.machine, place.tool, place.executable)
    _announce(plan, place)
    if not go:
        fetch, change = steps(place, commands)
        _would([*fetch, *change])
        return 0
    return _ended(apply(place, commands, plan.best.name, _say), place)


def _undo(place: Environment, go: bool) -> int:
    if go:
        return _ended(undo(place, _say), place)
    runs = read_record(place).runs
    last = runs[last_run(place, runs)]
    click.echo(f"back to what was in {place.prefix} before {last.stack} ({last.started})")
    for line in sorted(set(last.before) - set(installed(place))):
        click.echo(f"  {line}")
    click.echo("nothing was run; --apply does it")
    return 0


def _announce(plan: Plan, place: Environment) -> None:
    assert plan.best is not None
    click.echo(f"{plan.best.name} for {plan.machine.words()} ({plan.best.grade}), in {place.prefix}")
    for line in replaces(plan.best, plan.machine):
        click.echo(f"  replaces {line}")


def _would(commands: list[tuple[str, ...]]) -> None:
    for command_ in commands:
        click.echo(f"  {shlex.join(command_)}")
    click.echo("nothing was run; --apply does it" if commands else "nothing to do")


def _ended(ran: Run, place: Environment) -> int:
    """Say how it ended. 0 done, 1 a command failed."""
    if ran.state == "failed":
        click.echo(f"a command failed; {place.prefix} is as it was before", err=True)
        return 1
    if ran.state == "undone":
        click.echo(f"undone; {place.prefix} is as it was before {ran.stack}")
    elif ran.after == ran.before:
        click.echo("nothing to do")
    else:
        changed = sorted(set(ran.after) ^ set(ran.before))
        click.echo(
            f"done; {len(changed)} lines of the package list differ from before. What was there is kept in "
            f"{place.prefix}/{FOLDER} for --undo; remove that folder when you no longer need it"
        )
    return 0


def _say(line: str) -> None:
    click.echo(line, err=True)
