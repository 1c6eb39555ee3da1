"""A page for each diagnosis: docs/diagnoses/<id>.md, and an index. scripts/regen.py writes them."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.store import Matrix
from rocm_doctor.model import Diagnosis, Row

FOLDER = "docs/diagnoses"


def pages(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """(path from the root of the checkout, text) of every page."""
    yield f"{FOLDER}/README.md", _index(matrix)
    for known in matrix.diagnoses.values():
        rows = [row for row in matrix.rows if row.diagnosis == known.id]
        yield f"{FOLDER}/{known.id}.md", "\n".join(_page(known, rows)) + "\n"


def _index(matrix: Matrix) -> str:
    families: dict[str, list[Diagnosis]] = {}
    for known in matrix.diagnoses.values():
        families.setdefault(known.id.partition(".")[0], []).append(known)
    lines = ["# Diagnoses", "", "Generated from compat_matrix/diagnoses.yaml. Ids are never reused.", ""]
    for family, members in families.items():
        lines += [f"## {family}", "", *(f"- [`{d.id}`]({d.id}.md): {d.title}" for d in members), ""]
    retired = [f"- `{old}`: {f'now `{new}`' if new else 'without a successor'}" for old, new in matrix.retired.items()]
    return "\n".join([*lines, *(["## Retired", "", *retired, ""] if retired else [])])


def _page(known: Diagnosis, rows: list[Row]) -> Iterator[str]:
    yield from (f"# {known.id}", "", f"{known.title}.", "", f"**Criterion.** {known.criterion}", "")
    yield from (f"**Why.** {known.cause}", "", f"**What to do.** {known.advice}", "")
    if known.commands:
        yield from ("```sh", *(c.text for c in known.commands), "```", "")
    if known.verify:
        yield from ("Then check:", "", "```sh", *(c.text for c in known.verify), "```", "")
    yield from ("**Sources**", "", *(f"- {_link(s)}" for s in known.sources), "", f"Checked on {known.checked}.")
    if rows:
        yield from (
            "",
            "## Rows",
            "",
            "| row | when | status | grade | sources |",
            "|---|---|---|---|---|",
        )
        yield from map(_line, rows)


def _line(row: Row) -> str:
    when = "<br>".join(f"`{name}`: `{_cell(condition)}`" for name, condition in row.when.items())
    return f"| `{row.key}`: {_cell(row.title)} | {when} | {row.status} | {row.grade}, {row.checked} | {_link(row.sources[0])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _link(source: str) -> str:
    one = parse_citation(source)
    link = f"<{one.ref}>" if one.ref.startswith("https://") else _cell(one.ref)
    return link + _cell(source.removeprefix(one.ref))
