"""`rocm-doctor explain`: what a product, a package, a version, a diagnosis, a variable or an error line is, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rocm_doctor.cli.delivery import Printout, page_command
from rocm_doctor.cli.inputs import InputError, load_matrix
from rocm_doctor.cli.options import completes, verbose_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.page import render


@click.command(
    epilog="Examples:  rocm-doctor explain RX 9070 XT;  rocm-doctor explain bitsandbytes;  rocm-doctor explain torch==2.9.1;  "
    "rocm-doctor explain arch.not-in-build;  rocm-doctor explain 'HIP error: invalid device function'"
)
@click.argument("words", nargs=-1, shell_complete=completes("names"))
@verbose_option
@page_command("text", "json")
def command(words: Sequence[str], verbose: bool) -> Printout:
    """Explain WORDS: a GPU, a package (with ==version), torch, ROCm or Python with a version, a system, a variable, a diagnosis, a row, or
    an error line. One screen; -v shows all, each statement with its source. Without WORDS, list every diagnosis."""
    from rocm_doctor.explain import explain, nearest_names

    matrix: Matrix = load_matrix()
    text = " ".join(words)
    if not text.strip():
        column = max(map(len, matrix.diagnoses))
        lines = [f"{diagnosis.id:<{column}}  {diagnosis.title}" for diagnosis in matrix.diagnoses.values()]
        return Printout(lambda form, columns: "\n".join(lines))
    page = explain(text, matrix)
    if page is None:
        near = ", ".join(f"`{name}`" for name in nearest_names(text, matrix))
        names = f"; the nearest names are {near}" if near else ", and as a line of a log it shows no known failure"
        raise InputError(f"nothing is known of `{text}`{names}. A log or a report is read by: rocm-doctor check FILE")
    return Printout(lambda form, columns: render(form, page, RenderOptions(width=columns, verbose=verbose)))
