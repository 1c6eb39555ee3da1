"""`rocm-doctor matrix`: check the data of the compatibility matrix. `explain` shows what it knows."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import click

from rocm_doctor.cli.inputs import InputError

_SOURCE = Path(__file__).resolve().parents[2] / "compat_matrix"


@click.group(name="matrix")
def command() -> None:
    """Check the data of what works with what. `rocm-doctor explain` shows it."""


@command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def lint(folder: Path | None, strict: bool) -> None:
    """Check the data in FOLDER (default: compat_matrix of the checkout around this folder). Exit 1 on an error."""
    from rocm_doctor.matrix import load
    from rocm_doctor.matrix.checks import lint as problems_of
    from rocm_doctor.rules.proofs import unproven

    around = (at / "compat_matrix" for at in (Path.cwd(), *Path.cwd().parents))
    root = folder or next((at for at in (*around, _SOURCE) if (at / "VERSION").is_file()), None)
    if root is None:
        raise InputError("no matrix sources here: give their folder, or run this in a checkout of rocm-doctor")
    if not (root / "VERSION").is_file():
        raise InputError(f"{root} has no matrix sources (no VERSION)")
    matrix = functools.cache(functools.partial(load, root))  # loaded for the first row: only data that compiles has rows
    problems = problems_of(root, more=(("example", lambda row: unproven(row, matrix())),))
    for problem in problems:
        click.echo(f"{problem} [{problem.check}]" + ("" if problem.level == "error" else " (warning)"))
    errors = sum(p.level == "error" for p in problems)
    counts = {"error": errors, "warning": len(problems) - errors}
    click.echo(", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items()), err=True)
    if errors or (strict and problems):
        sys.exit(1)
