"""`rocm-doctor env`: the environment variables that this stack needs."""

from __future__ import annotations

import sys
from typing import Any

import click

from rocm_doctor.cli.plan import plan_options, read_request
from rocm_doctor.commands import changed_variables
from rocm_doctor.model import Finding
from rocm_doctor.plan.frameworks import NAMES
from rocm_doctor.plan.text import headline
from rocm_doctor.plan.variables import finding_variables, variable_lines
from rocm_doctor.rules.frameworks import TORCH


@click.command(epilog='Examples:  eval "$(rocm-doctor env)"')
@plan_options
def command(**asked: Any) -> None:
    """Print the variables to set and to unset for the torch installed in the environment of --python (the active one by default), each
    with its reason and source. Without a ROCm build of torch: for the first stack of `plan`.

    Prints nothing if nothing is needed, and never a variable that no program reads. Standard error names the stack, and what no
    variable mends; exit code 1 if that is an error of `check`.
    """
    request = read_request(**asked)
    report, plan = request.report, request.torch_plan() if TORCH.key in request.frameworks else None
    torch = plan.machine.torch if plan and not asked["upgrade"] and plan.machine.base.get("torch.build").value == "rocm" else ""
    if plan and plan.best is None and not torch:
        click.echo(f"{headline(plan)} See rocm-doctor plan", err=True)
        sys.exit(1)
    found, left = plan.variables if plan else (), list[Finding]()
    if report and (plan is None or torch):  # it is about what is installed
        left = [
            finding
            for finding in report.findings
            if finding.severity != "note" and finding.leads and not changed_variables(finding.commands)
        ]
        stays = plan and plan.done and plan.best
        found = found if stays else finding_variables(report.findings, request.machine, request.known.matrix)
    of = f"the installed torch {torch}" if torch else ", ".join(NAMES[name] for name in request.frameworks if name != TORCH.key)
    of = f"{plan.best.name}, the first stack of plan" if plan and plan.best and not torch else of
    click.echo(f"for {of}{'' if found else ': nothing to set'}", err=True)
    for title in dict.fromkeys(one.title for one in left):
        click.echo(f"no variable mends this: {title} (see rocm-doctor check)", err=True)
    short = bool(plan and torch and report and report.verdict == "problems" and plan.builds and not left)
    if short:
        click.echo("variables alone are not enough here: rocm-doctor plan has the packages too", err=True)
    click.echo("".join(f"{line}\n" for line in variable_lines(found, request.machine.shell)), nl=False)
    sys.exit(1 if short or any(one.severity == "error" for one in left) else 0)
