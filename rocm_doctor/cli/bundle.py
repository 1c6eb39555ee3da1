"""`rocm-doctor bundle`: redacted artifacts and the report in one zip, which `check` replays."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rocm_doctor.cli.check import live, read_captures, was_interrupted
from rocm_doctor.cli.common import interpreter, load_matrix, no_redact_option, python_option, sysroot_option, write_file
from rocm_doctor.integrations.ticket import pack_ticket
from rocm_doctor.redaction.redactor import Redactor, of_this_machine
from rocm_doctor.redaction.shared import redact_artifacts


@click.command(epilog="Example:  rocm-doctor bundle -o ticket.zip --log train.log")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default="rocm-doctor-ticket.zip", show_default=True
)
@click.option("--log", "logs", multiple=True, type=click.Path(exists=True, path_type=Path), help="A failing log to include.")
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
    artifacts = read_captures(paths, logs, False) if paths else live(python, sysroot, logs, smoke=smoke)
    redactor = of_this_machine()
    shared = artifacts if no_redact else redact_artifacts(artifacts, redactor)
    source = output.name if no_redact else redactor.text(output.name)
    data, report = pack_ticket(shared, source, matrix)
    write_file(output, data)
    if show:
        click.echo("\n".join(_list_secrets(redactor)) or "nothing was replaced")
    for name, line in redactor.withheld.items():
        click.echo(
            f"{redactor.replace(name)}: withheld from line {line} on: more names, addresses and secrets than are replaced",
            err=True,
        )
    there = sum(not a.missing for a in shared)
    click.echo(f"{output}: {there} artifacts ({len(shared) - there} more recorded as absent), verdict: {report.summary}")
    if was_interrupted(artifacts):
        sys.exit(130)


def _list_secrets(redactor: Redactor) -> list[str]:
    """A line for each replaced secret: its pseudonym, its masked form, the number of places, and the first one."""
    return [f"{one.pseudonym:14} {one.shown:40} {one.times:5} times, first in {one.first}" for one in redactor.replaced]
