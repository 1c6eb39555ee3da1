"""`rocm-doctor env`: the environment variables that this stack needs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor.cli.plan import plan_options, planned
from rocm_doctor.commands import SHELLS
from rocm_doctor.plan.text import variables_text


@click.command(epilog='Examples:  eval "$(rocm-doctor env)";  rocm-doctor env --gpu gfx1032 --shell fish | source')
@plan_options
@click.option("--shell", type=click.Choice(SHELLS), help="Spelling of the lines. [default: powershell for Windows, else bash]")
def command(shell: str | None, **asked: Any) -> None:
    """Print the variables to set and to unset for the torch installed in the environment of --python (the current one by default),
    each with its reason and source. Without a ROCm build of torch: for the first stack of `plan`.

    Prints nothing if nothing is needed, and never a variable that no program reads. Standard error names the stack.
    """
    torch = "" if asked["index"] or (asked["system"] and not asked["python"]) else installed_torch(asked["python"])
    plan = planned(**{**asked, "index": torch or asked["index"]})
    if plan.best is None:
        what = f"the installed torch {torch}" if torch else "nothing"
        click.echo(f"{what} is {'not ' if torch else ''}known to work for {plan.machine.words()}: see rocm-doctor plan", err=True)
        sys.exit(1)
    words = variables_text(plan.variables, shell or ("powershell" if plan.machine.system == "windows" else "bash"))
    of = f"the installed torch {torch}" if torch else f"{plan.best.name}, the first stack of plan"
    click.echo(f"for {of}{'' if words else ': nothing to set'}", err=True)
    click.echo(words, nl=False)


def installed_torch(python: str | None) -> str:
    """The version of the ROCm build of torch in an environment, from its files; empty if there is none."""
    from rocm_doctor.matrix import load
    from rocm_doctor.pipeline import read_facts
    from rocm_doctor.sources.live.python import python_files

    if python and re.fullmatch(r"3\.\d+(\.\d+)?", python):
        return ""
    facts = read_facts(python_files(python, Path("/"), os.environ), load())
    version = facts.get("torch.version").value
    return version if isinstance(version, str) and facts.get("torch.build").value == "rocm" else ""
