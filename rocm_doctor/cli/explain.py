"""`rocm-doctor explain`: the meaning and sources of a diagnosis, a row or an environment variable."""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cli.common import InputError, completes, load_matrix, width
from rocm_doctor.matrix import EnvVar, Matrix
from rocm_doctor.model import Diagnosis, Row
from rocm_doctor.reports.terminal import command_lines

_SLOT = regex(r"\{(\w+)\}")


@click.command(
    epilog="Examples:  rocm-doctor explain arch.not-in-build;  rocm-doctor explain HSA_OVERRIDE_GFX_VERSION;  "
    "rocm-doctor explain --like report.md"
)
@click.argument("name", required=False, shell_complete=completes("names"))
@click.option(
    "--like",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="List solved reports that read like this text (`-`: standard input).",
)
@click.option("--matrix", "matrix_path", type=click.Path(exists=True, path_type=Path), help="Use this matrix.")
@click.option("--overlay", "overlays", multiple=True, type=click.Path(exists=True, path_type=Path), help="Add or override rows.")
def command(name: str | None, like: Path | None, matrix_path: Path | None, overlays: Sequence[Path]) -> None:
    """Explain NAME: a diagnosis id, a row key, a variable or a gfx target. Without NAME, list every diagnosis."""
    matrix: Matrix = load_matrix(matrix_path, overlays)
    if like:
        click.echo("\n".join(_alike(like, matrix)))
        return
    if name and name.casefold() in matrix.gfx:
        from rocm_doctor.cli.matrix import show

        click.get_current_context().invoke(show, subject=name.casefold(), matrix_path=matrix_path, overlays=overlays)
        return
    click.echo("\n".join(_lines(matrix, name) if name else _list(matrix)))


def _alike(path: Path, matrix: Matrix) -> Iterator[str]:
    """The solved reports that read like a text, with their causes and fixes."""
    from rocm_doctor.cures.solved import SHOWN
    from rocm_doctor.pipeline import solved_like
    from rocm_doctor.sources.paste import cut

    text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8", errors="replace")
    found = [one for one in solved_like(cut(text, path.name), matrix) if one.label != "none"]
    if not found:
        yield "no solved report reads like this text"
    for one in found:
        yield f"{one.thread} ({one.label}, likeness {one.likeness:.2f}{'' if one.likeness >= SHOWN else ', not near'})"
        yield from _said("cause", one.cause)
        yield from _said("fix", one.fix)


def _list(matrix: Matrix) -> Iterator[str]:
    width = max(len(d) for d in matrix.diagnoses)
    yield from (f"{d.id:<{width}}  {d.title}" for d in matrix.diagnoses.values())


def _lines(matrix: Matrix, name: str) -> Iterable[str]:
    row = matrix.row(name)
    if name in matrix.diagnoses:
        return _diagnosis(matrix, matrix.diagnoses[name])
    if row:
        return _row(matrix, row)
    if name in matrix.env:
        return _variable(matrix.env[name])
    names = [*matrix.diagnoses, *matrix.by_key, *matrix.env]
    exact = next((known for known in names if known.casefold() == name.casefold()), None)
    if exact:
        return _lines(matrix, exact)
    if name.split()[0].casefold() in ("torch", "rocm"):
        raise InputError(f"for `{name}` see its table: rocm-doctor matrix show {name}")
    near = difflib.get_close_matches(name, names, 3, 0.5)
    raise InputError(
        f"unknown name `{name}`" + (f"; did you mean {', '.join(near)}?" if near else "; `rocm-doctor explain` lists all")
    )


def _diagnosis(matrix: Matrix, known: Diagnosis) -> Iterator[str]:
    yield f"{known.id}: {known.title}"
    yield from _said("when", known.criterion)
    yield from _said("cause", known.cause)
    yield from _said("fix", known.advice)
    yield from _typed(matrix, known)
    yield from _all("source", known.sources)
    for cure in (one for one in matrix.cures if known.id in one.of and one.when):
        yield ""
        yield from _said("if", ", ".join(f"{name}: {asked}" for name, asked in cure.when.items()))
        yield from _said("fix", _SLOT.sub(lambda found: matrix.slots[found[1]].words, cure.do))
        yield from _all("source", cure.sources)
    rows = [r for r in matrix.rows if r.diagnosis == known.id]
    if rows:
        yield ""
        yield f"  {len(rows)} rows of the matrix use it:"
    yield from (f"    {r.key}: {r.title} ({r.status}, {r.grade}, {r.checked})" for r in rows)


def _row(matrix: Matrix, row: Row) -> Iterator[str]:
    yield f"{row.key}: {row.title}"
    yield f"  {row.status}, {_graded(row)}, layer {row.layer}, checked {row.checked}; diagnosis {row.diagnosis}"
    yield from _all("when", [f"{name}: {condition}" for name, condition in row.when.items()])
    yield from _said("cause", row.cause)
    yield from _said("fix", row.advice)
    yield from _typed(matrix, row)
    yield from _all("issue", [f"{one.id}: {one.state} on {one.seen}" for one in row.issues])
    yield from _said("also", ", ".join(row.aliases))
    yield from _said("over", ", ".join(row.supersedes))
    yield from _all("source", row.sources)
    if row.verified:
        yield from _said("read", f"{row.verified.outcome} by a {row.verified.by} on {row.verified.date}")


def _graded(row: Row) -> str:
    apart = {"range": row.range_grade, "remedy": row.remedy_grade}
    return row.grade + "".join(f" ({name}: {grade})" for name, grade in apart.items() if grade)


def _typed(matrix: Matrix, known: Row | Diagnosis) -> Iterator[str]:
    wide = width()
    yield from map(click.unstyle, command_lines("", matrix.typed(known.commands), wide))
    yield from map(click.unstyle, command_lines("verify", matrix.typed(known.verify), wide))


def _variable(known: EnvVar) -> Iterator[str]:
    yield f"{known.name}" + (" (nothing reads it)" if known.exists == "no" else f": read by {known.reader}")
    yield from _said("values", known.values)
    yield from _said("effect", known.effect)
    yield from _said("harm", known.harm)
    yield from _all("source", known.sources)


def _said(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12, break_on_hyphens=False)


def _all(label: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from _said(label, line)
        label = ""
