"""`rocm-doctor bundle`: redacted artifacts and the report in one zip, which `check` replays."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rocm_doctor.cli.delivery import write_file
from rocm_doctor.cli.inputs import interpreter, load_matrix
from rocm_doctor.cli.machine import live, read_captures, was_interrupted
from rocm_doctor.cli.options import OUTPUT, logs_option, no_redact_option, paths_argument, python_option, sysroot_option
from rocm_doctor.cli.output import INTERRUPTED
from rocm_doctor.integrations.ticket import pack_ticket
from rocm_doctor.redaction.redactor import local_redactor
from rocm_doctor.redaction.shared import redact_artifacts


@click.command(epilog="Example:  rocm-doctor bundle -o ticket.zip --log train.log")
@paths_argument
@click.option("-o", "--output", type=OUTPUT, default="rocm-doctor-ticket.zip", show_default=True)
@logs_option
@python_option
@click.option("--smoke/--no-smoke", default=False, help="Run the smoke test and include its results.")
@no_redact_option
@click.option("--show", is_flag=True, help="List what was replaced, for review before sending.")
@sysroot_option
def command(
    paths: tuple[Path, ...],
    output: Path,
    logs: tuple[Path, ...],
    python: str | None,
    smoke: bool,
    no_redact: bool,
    show: bool,
    sysroot: Path | None,
) -> None:
    """Pack what was read from this machine (or from PATHS) for a bug report, without host, user or serials."""
    python = interpreter(python) if python or not (paths or sysroot) else None
    matrix = load_matrix()
    artifacts = read_captures(paths, logs) if paths else live(python, sysroot, logs, smoke=smoke)
    redactor = local_redactor()
    shared = artifacts if no_redact else redact_artifacts(artifacts, redactor)
    data, report = pack_ticket(shared, output.name if no_redact else redactor.text(output.name), matrix)
    write_file(output, data)
    if show:
        secrets = [
            f"{replacement.pseudonym:14} {replacement.display:40} {replacement.times:5} times, first in {replacement.first}"
            for replacement in redactor.replacements
        ]
        click.echo("\n".join(secrets) or "nothing was replaced")
    for name, line in redactor.withheld.items():
        why = "more names, addresses and secrets than are replaced"
        click.echo(f"{redactor.replace(name)}: withheld from line {line} on: {why}", err=True)
    there = sum(not a.missing for a in shared)
    click.echo(f"{output}: {there} artifacts ({len(shared) - there} more recorded as absent), verdict: {report.summary}")
    sys.exit(INTERRUPTED if not paths and was_interrupted(artifacts) else 0)
