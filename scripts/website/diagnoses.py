"""A page for each diagnosis, where each of its rows has its home: cause, remedy, conditions, lines, sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_doctor.commands import remarks
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.ranges import all_conditions, remedy
from rocm_doctor.model import Command, Diagnosis, Issue, Row, last_read
from website import claims
from website.claims import AREAS, at_home, state
from website.sources import full
from website.text import Page, block, esc, heading, items, link, outside, prose, wrong

SHORTEST = 8
"""Characters of a line that is telling enough to be searched for."""
CRUMBS = (("", "Home"), ("diagnosis", "Errors"))


def pages(matrix: Matrix) -> Iterator[Page]:
    """The list, then a page for each diagnosis."""
    yield _index(matrix)
    for known in matrix.diagnoses.values():
        yield _page(matrix, known, [row for row in matrix.rows if row.diagnosis == known.id])


def titled(matrix: Matrix, known: Diagnosis) -> str:
    """The title of a diagnosis with a capital, unless it begins with the name of a package."""
    packages = {name.removeprefix("pkg.") for row in matrix.rows for name in row.when if name.startswith("pkg.")}
    first = known.title.split()[0]
    return known.title if first in {"torch", "amdgpu", *packages} else known.title[0].upper() + known.title[1:]


def _index(matrix: Matrix) -> Page:
    about = "Every cause that rocm-doctor names when PyTorch does not train on an AMD GPU, with its cases, commands and sources."
    areas: dict[str, list[Diagnosis]] = {}
    for known in matrix.diagnoses.values():
        areas.setdefault(known.id.partition(".")[0], []).append(known)
    lines = [about + "\n"]
    for area, members in areas.items():
        listed = (f"{link(f'diagnosis/{one.id}', esc(titled(matrix, one)))} (<code>{esc(one.id)}</code>)" for one in members)
        lines += [heading(2, AREAS.get(area, area), area) + "\n", items(listed) + "\n"]
    return Page("diagnosis", "ROCm and PyTorch errors on AMD GPUs: causes and fixes", about, "\n".join(lines), CRUMBS[:1])


def _page(matrix: Matrix, known: Diagnosis, rows: Sequence[Row]) -> Page:
    title = f"{titled(matrix, known)} (AMD ROCm)"
    lines = [
        f'<p class="facts"><code>{esc(known.id)}</code> · read {known.checked} · {wrong(known.id)}</p>\n',
        f"<p><strong>When it is this one.</strong> {prose(known.criterion)}</p>\n",
        f'<p data-claim="{esc(known.id)}"><strong>Why.</strong> {prose(known.cause)} ({at_home(claims.of_diagnosis(known))})</p>\n',
        f"<p><strong>What to do.</strong> {prose(known.advice)}</p>\n",
        *_commands("", known.commands),
        *_commands("Then check:", known.verify),
        *_commands("To settle it:", [known.settle] if known.settle else []),
        "<p><strong>Sources</strong></p>\n",
        items(map(full, known.sources), searched=False) + "\n",
    ]
    if rows:
        lines.append(heading(2, "Known cases") + "\n")
        lines += [part for row in rows for part in entry(row)]
    return Page(
        f"diagnosis/{known.id}",
        title,
        f"{known.criterion} {known.advice}",
        "\n".join(lines),
        CRUMBS,
        found_by=tuple(dict.fromkeys(line for row in rows for line in failing(row))),
    )


def failing(row: Row) -> tuple[str, ...]:
    """Lines that lead to a row, as it asks for them and as its example has them."""
    asked = (condition for name, condition in row.when.items() if name in ("log", "log.2") and "!" not in condition)
    lines = [line.replace("*", " ").strip() for condition in asked for line in condition.split("|")] + row.example.splitlines()
    return tuple(dict.fromkeys(line for line in lines if len(line) >= SHORTEST and "{" not in line))


def entry(row: Row) -> Iterator[str]:
    """All of a row."""
    yield heading(3, row.title, row.key) + "\n"
    yield f'<p class="facts">{state(row.status)} {esc(row.grade)} · read {last_read(row)} · <code>{esc(row.key)}</code> · {wrong(row.key)}</p>\n'
    yield f'<p data-claim="{esc(row.key)}">{prose(row.cause)} ({at_home(claims.of_row(row))})</p>\n'
    if words := f"{row.advice} {remedy(row.affected)}".strip():
        yield f"<p><strong>What to do.</strong> {prose(words)}</p>\n"
    yield from _commands("", row.commands)
    yield from _commands("Then check:", row.verify)
    yield from _commands("To settle it:", [row.settle] if row.settle else [])
    if row.example:
        yield f"<p>Looks like this:</p>{block(row.example)}\n"
    if row.not_:
        yield f"<p>This is something else:</p>{block(row.not_)}\n"
    asked = (f"<code>{esc(name)}</code> <code>{esc(condition)}</code>" for name, condition in all_conditions(row).items())
    yield f"<p>Holds when:</p>{items(asked, searched=False)}\n"
    yield f"<p>Sources:</p>{items([*map(full, row.sources), *map(_issue, row.issues)], searched=False)}\n"


def _issue(issue: Issue) -> str:
    repository, _, number = issue.id.partition("#")
    thread = outside(f"https://github.com/{repository}/issues/{number}", esc(issue.id))
    return f"{thread}: {issue.state}, seen {issue.seen}"


def _commands(title: str, commands: Sequence[Command]) -> Iterator[str]:
    """Commands, each with the systems it is for."""
    if commands and title:
        yield f"<p>{title}</p>\n"
    for one in commands:
        said = remarks(one)
        yield block(one.text) + (f'<p class="facts">{esc(said)}</p>' if said else "") + "\n"
