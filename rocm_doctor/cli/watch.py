"""`rocm-doctor watch`: what holds a running training back."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from rocm_doctor import watch
from rocm_doctor.cli.common import InputError, page_options, print_page


@click.command(epilog="Examples:  rocm-doctor watch;  rocm-doctor watch 4711 --seconds 60;  rocm-doctor watch 4711 --format json")
@click.argument("pid", type=click.IntRange(1), required=False)
@click.option("--seconds", type=click.FloatRange(1), default=20.0, show_default=True, help="How long to look.")
@page_options("text", "json")
def command(pid: int | None, seconds: float, form: str, output: Path | None) -> None:
    """Look at a running training and say what holds it back: data, the CPU, the disk, memory, power, heat, another process.

    PID is that of the training; without it, the process that holds the most VRAM is taken. The run is only looked at, through sysfs and /proc.
    Exit code 1 if something holds it back.
    """
    try:
        found = watch.watch(pid, seconds, tell=lambda line: click.echo(line, err=True))
    except watch.WatchError as exc:
        raise InputError(str(exc)) from exc
    print_page(
        msgspec.json.format(msgspec.json.encode(found), indent=1).decode() if form == "json" else watch.page(found), output
    )
    sys.exit(0 if found.causes[0].id == "computes" else 1)
