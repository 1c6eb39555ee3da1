"""A page for each library and component: the rows that ask for it and the facts about it, which have their home there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.matrix import Fact, Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.model import NO_FAULT, Row
from website import claims
from website.claims import line, listed
from website.text import Page, esc, heading, link, slug, table

CRUMBS = (("", "Home"), ("library", "Libraries"))


class Library(NamedTuple):
    """A name as people write it, with what is known of it."""

    name: str
    rows: list[Row]
    facts: list[Fact]


def libraries(matrix: Matrix) -> dict[str, Library]:
    """By the address of the page: packages that rows ask for, diagnoses of one library, subjects of facts."""
    found: dict[str, Library] = {}
    for row in matrix.rows:
        names = [name.removeprefix("pkg.") for name in all_conditions(row) if name.startswith("pkg.")]
        names += [row.diagnosis.removeprefix("lib.")] if row.diagnosis.startswith("lib.") else []
        for name in dict.fromkeys(names):
            found.setdefault(slug(name), Library(name, [], [])).rows.append(row)
    for fact in matrix.facts:
        name = "PyTorch" if claims.fact_page(fact) == "pytorch" else fact.subject
        place = claims.fact_page(fact)
        found[place] = found.get(place, Library(name, [], []))._replace(name=name)
        found[place].facts.append(fact)
    return dict(sorted(found.items()))


def pages(matrix: Matrix) -> Iterator[Page]:
    """The list, then a page for each."""
    found = libraries(matrix)
    about = "What is known of each library and component on AMD GPUs: releases that work, problems, conditions, sources."
    rows = (_listed(place, one) for place, one in found.items())
    body = table(("Library or component", "Works", "Problems", "Facts"), rows, "Libraries and components", "claims filterable")
    yield Page("library", "Libraries on AMD ROCm: what works", about, f"{about}\n\n{body}", CRUMBS[:1])
    yield from (_page(place, one) for place, one in found.items())


def _listed(place: str, one: Library) -> str:
    works = sum(row.status in NO_FAULT for row in one.rows)
    counts = (works, len(one.rows) - works, len(one.facts))
    cells = "".join(f"<td>{number}</td>" for number in counts)
    return f'<tr><th scope="row">{link(f"library/{place}", esc(one.name))}</th>{cells}</tr>'


def _counted(one: Library) -> str:
    counts = ((len(one.rows), "case"), (len(one.facts), "fact"))
    return " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in counts if number)


def _page(place: str, one: Library) -> Page:
    lines = []
    for title, rows in (
        ("What works", [row for row in one.rows if row.status in NO_FAULT]),
        ("Known problems", [row for row in one.rows if row.status not in NO_FAULT]),
    ):
        if rows:
            lines += [heading(2, title) + "\n", listed(map(claims.of_row, rows), f"{one.name}: {title.lower()}") + "\n"]
    if one.facts:
        rows_of_facts = (line(claims.of_fact(fact), fact.key) for fact in one.facts)
        lines += [heading(2, "Facts") + "\n", table(claims.COLUMNS, rows_of_facts, f"{one.name}: facts") + "\n"]
    about = f"{one.name} on AMD GPUs with ROCm: {_counted(one)}, each with its source and date."
    return Page(f"library/{place}", f"{one.name} AMD ROCm: what works", about, f"{about}\n\n" + "\n".join(lines), CRUMBS)
