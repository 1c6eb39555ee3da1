"""The whole matrix as tables that can be filtered: one page for each area of diagnoses, so that no page grows without bound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.model import Row
from website.claims import AREAS, conditions, of_row, row_home, state
from website.sources import source
from website.text import Page, esc, heading, link, outside, prose, table, wrong

CRUMBS = (("", "Home"), ("matrix", "Matrix"))
COLUMNS = ("Statement", "State", "Layer", "Grade", "When", "Source")


def pages(matrix: Matrix) -> Iterator[Page]:
    """The list of tables, then a table for each area."""
    ordered = sorted(matrix.rows, key=lambda row: row.diagnosis.partition(".")[0])
    areas = {area: list(rows) for area, rows in groupby(ordered, lambda row: row.diagnosis.partition(".")[0])}
    about = f"Version {matrix.version}: {len(matrix.rows)} rows, each with conditions, a grade, a date and sources."
    lines = [
        about + "\n",
        *(f"- {link(f'matrix/{area}', esc(AREAS.get(area, area)))}: {len(rows)} rows" for area, rows in areas.items()),
    ]
    lines += [
        f"- {outside('https://rocm-doctor.github.io/rocm-doctor/matrix.json', 'matrix.json')}: all of it as JSON, to download; "
        f"{outside('https://rocm-doctor.github.io/rocm-doctor/row.schema.json', 'the schema of a row')}",
        f"- {link('support', 'support by ROCm release')}: {len(matrix.support)} statements",
        f"- {link('torch', 'torch wheels')}: {len(matrix.torch)}",
        f"- {link('variable', 'environment variables')}: {len(matrix.env)}",
        f"- {link('library', 'libraries and components')}: {len(matrix.facts)} facts",
        f"- {link('sources', 'sources without an address')}",
        "",
        heading(2, "Grades", "grades"),
        "",
        "official: AMD's or the project's own publication. upstream: its code, its maintainers, its tracker. field: a report by a user. "
        "hearsay: no source that a second reader could follow.",
    ]
    yield Page("matrix", "AMD ROCm compatibility matrix", about, "\n".join(lines), CRUMBS[:1])
    yield from (_area(area, rows) for area, rows in areas.items())


def _area(area: str, rows: list[Row]) -> Page:
    name = AREAS.get(area, area)
    body = table(COLUMNS, map(_line, rows), f"Rows about {name}", "claims filterable")
    about = f"The {len(rows)} rows of the matrix about {name}. Each statement leads to its row with conditions, commands and all sources."
    return Page(f"matrix/{area}", f"ROCm compatibility matrix: {name}", about, f"{about}\n\n{body}", CRUMBS, searched="no")


def _line(row: Row) -> str:
    one = of_row(row)
    cells = (
        state(row.status),
        row.layer,
        row.grade,
        conditions(all_conditions(row)),
        f"{source(row.sources[0])} {wrong(row.key)}",
    )
    title = link(row_home(row), prose(one.words))
    return (
        f'<tr data-claim="{esc(row.key)}"><th scope="row">{title}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    )
