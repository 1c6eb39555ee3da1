"""`rocm-doctor env`: the environment variables that this stack needs."""

from __future__ import annotations

import sys
from typing import Any

import click

from rocm_doctor.cli.plan import plan_options, planned
from rocm_doctor.commands import SHELLS
from rocm_doctor.plan.text import variables_text


@click.command(epilog='Examples:  eval "$(rocm-doctor env)";  rocm-doctor env --gpu gfx1032 --shell fish | source')
@plan_options
@click.option("--shell", type=click.Choice(SHELLS), default="bash", show_default=True, help="Spelling of the lines.")
def command(shell: str, **asked: Any) -> None:
    """Variables for the stack that `plan` puts first: what to set and what to unset, each with its reason and source.

    Prints nothing where nothing is needed, and never a variable that no program reads.
    """
    plan = planned(**asked)
    if plan.best is None:
        click.echo(f"nothing is known to work for {plan.machine.words()}: rocm-doctor plan says why", err=True)
        sys.exit(1)
    click.echo(variables_text(plan.variables, shell), nl=False)
