"""`rocm-doctor matrix`: check, compare and extend the compatibility matrix. `explain` shows what it knows."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_doctor.cli.common import InputError, load_matrix, page_options, print_page, width
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.page import FORMS, Page, render

if TYPE_CHECKING:
    from rocm_doctor.matrix.tables import Table

_PATH = click.Path(exists=True, path_type=Path)
_SOURCE = Path(__file__).resolve().parents[2] / "compat_matrix"


@click.group(name="matrix")
def command() -> None:
    """Check, compare and extend what works with what. `rocm-doctor explain` shows it."""


@command.command()
@page_options(*FORMS)
@click.option("--matrix", "matrix_path", type=_PATH, help="Use this matrix instead of the packaged one.")
@click.option("--overlay", "overlays", multiple=True, type=_PATH, help="Add or override rows.")
def coverage(matrix_path: Path | None, overlays: Sequence[Path], form: str, output: Path | None) -> None:
    """Show what is known, unknown, contradictory and stale."""
    from rocm_doctor.matrix.coverage import coverage as tables_of

    _print("Coverage of the matrix", tables_of(load_matrix(matrix_path, overlays), datetime.date.today()), form, output)


@command.command()
@click.argument("old", type=_PATH)
@click.argument("new", type=_PATH, required=False)
@page_options(*FORMS)
def diff(old: Path, new: Path | None, form: str, output: Path | None) -> None:
    """Show what was added, removed and changed from OLD to NEW (default: the packaged matrix)."""
    from rocm_doctor.matrix.coverage import diff as tables_of

    _print("What changed in the matrix", tables_of(load_matrix(old, ()), load_matrix(new, ())), form, output)


@command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def lint(folder: Path | None, strict: bool) -> None:
    """Check the data in FOLDER (default: compat_matrix of the checkout around this folder). Exit 1 on an error."""
    from rocm_doctor.matrix.checks import lint as problems_of
    from rocm_doctor.rules.proofs import unproven

    around = (at / "compat_matrix" for at in (Path.cwd(), *Path.cwd().parents))
    root = folder or next((at for at in (*around, _SOURCE) if (at / "VERSION").is_file()), None)
    if root is None:
        raise InputError("no matrix sources here: give their folder, or run this in a checkout of rocm-doctor")
    if not (root / "VERSION").is_file():
        raise InputError(f"{root} has no matrix sources (no VERSION)")
    matrix = functools.cache(
        functools.partial(load_matrix, root, ())
    )  # loaded for the first row: only data that compiles has rows
    problems = problems_of(root, more=(("example", lambda row: unproven(row, matrix())),))
    for problem in problems:
        click.echo(f"{problem} [{problem.check}]" + ("" if problem.level == "error" else " (warning)"))
    errors = sum(p.level == "error" for p in problems)
    counts = {"error": errors, "warning": len(problems) - errors}
    click.echo(", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items()), err=True)
    if errors or (strict and problems):
        sys.exit(1)


@command.command(epilog="Examples:  matrix update;  matrix update --apply")
@click.option("--apply", is_flag=True, help="Run the command.")
def update(apply: bool) -> None:
    """Print the one command that installs the newest matrix beside this tool; the tool itself stays as it is."""
    import shlex

    from rocm_doctor.matrix.installed import NAME
    from rocm_doctor.workers.process import run

    argv = _installer(NAME)
    click.echo(shlex.join(argv))
    if not apply:
        return
    ended = run(argv, limit=600.0)
    if ended.returncode != 0:
        raise click.ClickException(f"{argv[0]} failed: {(ended.stderr or ended.stdout or ended.state).strip()[-2000:]}")
    click.echo(run([sys.executable, "-m", "rocm_doctor", "--version"], limit=30.0).stdout.strip(), err=True)


def _installer(name: str) -> tuple[str, ...]:
    """The command that installs the newest release of a distribution in the environment of this tool: by pip, or by uv where that made
    an environment without pip."""
    if importlib.util.find_spec("pip") is None:
        return ("uv", "pip", "install", "--python", sys.executable, "--upgrade", name)
    return (sys.executable, "-m", "pip", "install", "--upgrade", name)


_ASKED = (
    ("key", "Key (small letters, digits, hyphens)"),
    ("diagnosis", "Diagnosis id (see `rocm-doctor explain`)"),
    ("title", "Title: the problem in one line"),
    ("status", "Status: works, allowed, degraded, broken, unsupported, wrong"),
    ("grade", "Grade: official, upstream, field, hearsay"),
    ("layer", "Layer: driver, runtime, compiler, library, framework, package, machine"),
    ("cause", "Cause: one or two sentences"),
    ("advice", "Advice: starts with a verb (may be empty)"),
)


@command.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File of rows to add to.")
@click.option("--when", multiple=True, metavar="FACT=CONDITION", help="A condition; repeatable. Prompted for if not given.")
@click.option("--source", "sources", multiple=True, help="A citation; repeatable. Prompted for if not given.")
@click.option("--command", "commands", multiple=True, help="A command to type; repeatable.")
def new(output: Path, when: Sequence[str], sources: Sequence[str], commands: Sequence[str]) -> None:
    """Prompt for the fields of a row, check it, and add it to a file (of the matrix, or an overlay)."""
    from rocm_doctor.matrix import draft
    from rocm_doctor.matrix.source import read_shorts

    fields: dict[str, object] = {
        name: click.prompt(words, default="" if "empty" in words else None, show_default=False) for name, words in _ASKED
    }
    fields["when"] = dict(_pair(c) for c in when or _many("Condition as FACT=CONDITION (torch.version=>=2.10,<2.12)"))
    fields["sources"] = list(sources or _many("Source (URL, `owner/repo path@commit`, `field report: what (date)`)"))
    fields["commands"] = list(commands)
    fields["checked"] = datetime.date.today().isoformat()
    text = draft.as_yaml(fields)
    matrix = load_matrix(None, ())
    problems = draft.faults(text, matrix.diagnoses, {*matrix.by_key, *matrix.retired}, read_shorts(_SOURCE))
    if problems:
        raise InputError(
            "the row was not written:\n" + "\n".join(f"  {p.field or 'row'}: {p.message}" for p in problems) + f"\n\n{text}"
        )
    draft.append(output, text)
    click.echo(f"{text}\nadded to {output}")


def _many(words: str) -> list[str]:
    """Answers until an empty one."""
    answers: list[str] = []
    while answer := click.prompt(words if not answers else "Another (empty to finish)", default="", show_default=False):
        answers.append(answer)
    return answers


def _pair(text: str) -> tuple[str, str]:
    name, equals, condition = text.partition("=")
    if not equals:
        raise InputError(f"invalid condition `{text}`: write FACT=CONDITION, such as gpu.gfx=gfx1100")
    return name.strip(), condition.strip()


def _print(title: str, tables: Sequence[Table], form: str, output: Path | None) -> None:
    print_page(render(form, Page(title, tables=tuple(tables)), RenderOptions(width=width(output is not None))), output)
