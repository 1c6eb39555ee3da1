"""`rocm-doctor explain`: what a product, a package, a version, a diagnosis, a variable or an error line is, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from rocm_doctor.cli.delivery import Printout, page_command
from rocm_doctor.cli.inputs import InputError, load_matrix
from rocm_doctor.cli.options import completes, verbose_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.page import FORMS, render


@click.command(
    epilog="Examples:  rocm-doctor explain RX 9070 XT;  rocm-doctor explain bitsandbytes;  rocm-doctor explain torch==2.9.1;  "
    "rocm-doctor explain arch.not-in-build;  rocm-doctor explain 'HIP error: invalid device function'"
)
@click.argument("words", nargs=-1, shell_complete=completes("names"))
@click.option("--like", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
              help="List solved reports that read like this text (`-`: standard input).")  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="List every name that fits WORDS; without WORDS, every diagnosis.")
@verbose_option
@page_command(*FORMS)
def command(words: Sequence[str], like: Path | None, listed: bool, verbose: bool) -> Printout:
    """Explain WORDS: a GPU, a package (with ==version), torch, ROCm or Python with a version, a system, a variable, a diagnosis, a row, or
    an error line. One screen; -v shows all, each statement with its source. Without WORDS, list every diagnosis."""
    from rocm_doctor.explain import explain

    matrix: Matrix = load_matrix()
    text = " ".join(words)
    if like or listed or not text.strip():
        lines = list(_list_solved(like, matrix) if like else _list(text, matrix))
        return Printout(lambda form, columns: "\n".join(lines))
    page = explain(text, matrix)
    if page is None:
        raise _unknown_name(text, matrix)
    return Printout(lambda form, columns: render(form, page, RenderOptions(width=columns, verbose=verbose)))


def _unknown_name(text: str, matrix: Matrix) -> InputError:
    from rocm_doctor.explain import nearest_names

    near = ", ".join(f"`{name}`" for name in nearest_names(text, matrix))
    names = f"; the nearest names are {near}" if near else ", and as a line of a log it shows no known failure"
    return InputError(f"nothing is known of `{text}`{names}. A log or a report is read by: rocm-doctor check FILE")


def _list(text: str, matrix: Matrix) -> Iterator[str]:
    """A line for each name that fits a text, or for each diagnosis."""
    from rocm_doctor.explain import search

    if not text.strip():
        column = max(map(len, matrix.diagnoses))
        yield from (f"{one.id:<{column}}  {one.title}" for one in matrix.diagnoses.values())
        return
    matches = search(text, matrix)
    if not matches:
        raise _unknown_name(text, matrix)
    for match in matches:
        yield f"{match.query} ({match.entry.kind}): {match.entry.words}"


def _list_solved(path: Path, matrix: Matrix) -> Iterator[str]:
    """The solved reports that read like a text, with their causes and fixes."""
    from rocm_doctor.cures.solved import SHOWN
    from rocm_doctor.pipeline import find_solved
    from rocm_doctor.sources.paste import cut

    text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8", errors="replace")
    solved = [report for report in find_solved(cut(text, path.name), matrix) if report.label != "none"]
    if not solved:
        yield "no solved report reads like this text"
    for report in solved:
        far = "" if report.likeness >= SHOWN else ", not near"
        yield f"{report.thread} ({report.label}, likeness {report.likeness:.2f}{far})"
        yield from (f"  cause     {report.cause}", f"  fix       {report.fix}")
