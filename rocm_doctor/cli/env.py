"""`rocm-doctor env`: the environment variables that this stack needs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor.cli.common import interpreter
from rocm_doctor.cli.plan import plan_options, read_request
from rocm_doctor.commands import SHELLS
from rocm_doctor.model import Finding, Report
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.frameworks import NAMES
from rocm_doctor.plan.stack_judge import sets_variable
from rocm_doctor.plan.text import headline
from rocm_doctor.plan.variables import Variable, finding_variables, lines


@click.command(epilog='Examples:  eval "$(rocm-doctor env)";  rocm-doctor env --gpu gfx1032 --shell fish | source')
@plan_options
@click.option("--shell", type=click.Choice(SHELLS), help="Spelling of the lines. [default: powershell for Windows, else bash]")
def command(shell: str | None, **asked: Any) -> None:
    """Print the variables to set and to unset for the torch installed in the environment of --python (the active one by default), each
    with its reason and source. Without a ROCm build of torch: for the first stack of `plan`.

    Prints nothing if nothing is needed, and never a variable that no program reads. Standard error names the stack, and what no
    variable mends; exit code 1 if that is an error of `check`.
    """
    elsewhere = asked["index"] or asked["rocm"] or (asked["system"] and not asked["python"])
    torch = installed_torch(asked["python"]) if asked["gpu"] and not elsewhere else ""
    request = read_request(**{**asked, "index": torch or asked["index"]})
    plan = request.plan() if request.torch else None
    if plan:
        found, left = _answer(plan)
        torch = torch or ("" if not plan.report or asked["upgrade"] else _rocm(plan))
        if plan.best is None and not (torch and plan.report):
            unknown = f"the installed torch {torch} is not known to work for {plan.machine.words()}."
            click.echo(f"{unknown if torch else headline(plan)} See rocm-doctor plan", err=True)
            sys.exit(1)
        of = f"the installed torch {torch}" if torch else f"{plan.best.name}, the first stack of plan" if plan.best else ""
    else:
        report = request.report
        found = finding_variables(report.findings, request.machine, request.known.matrix) if report else ()
        left, of = _findings_without_variable(report) if report else [], ", ".join(NAMES[name] for name in request.others)
    click.echo(f"for {of}{'' if found else ': nothing to set'}", err=True)
    for title in dict.fromkeys(one.title for one in left):
        click.echo(f"no variable mends this: {title} (see rocm-doctor check)", err=True)
    short = bool(plan and torch and plan.report and plan.report.verdict == "problems" and plan.builds and not left)
    if short:
        click.echo("variables alone are not enough here: rocm-doctor plan has the packages too", err=True)
    system = request.machine.system
    click.echo(
        "".join(f"{line}\n" for line in lines(found, shell or ("powershell" if system == "windows" else "bash"))), nl=False
    )
    sys.exit(1 if short or any(one.severity == "error" for one in left) else 0)


def _rocm(plan: Plan) -> str:
    """The installed ROCm build of torch; empty without one."""
    return plan.machine.torch if plan.machine.base.get("torch.build").value == "rocm" else ""


def _answer(plan: Plan) -> tuple[tuple[Variable, ...], list[Finding]]:
    """The variables for what is installed, and what `check` finds that none of them mends; for a declared machine those of the plan."""
    if plan.report is None or not _rocm(plan):
        return plan.variables, []
    if plan.done and plan.best:
        return plan.variables, _findings_without_variable(plan.report)
    from rocm_doctor.matrix import load

    return finding_variables(plan.report.findings, plan.machine, load()), _findings_without_variable(plan.report)


def _findings_without_variable(report: Report) -> list[Finding]:
    """The findings of a report that no environment variable fixes."""
    return [one for one in report.findings if one.severity != "note" and one.leads and not sets_variable(one)]


def installed_torch(python: str | None) -> str:
    """The version of the ROCm build of torch in an environment, from its files; empty if there is none."""
    from rocm_doctor.matrix import load
    from rocm_doctor.pipeline import read_facts
    from rocm_doctor.sources.live.python import python_files

    if python and re.fullmatch(r"3\.\d+(\.\d+)?", python):
        return ""
    facts = read_facts(python_files(interpreter(python), Path("/"), os.environ), load())
    version = facts.get("torch.version").value
    return version if isinstance(version, str) and facts.get("torch.build").value == "rocm" else ""
