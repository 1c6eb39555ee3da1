"""Statements of the matrix in one form, whatever section they come from: what holds, for which releases, and who says so."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.matrix.types import EnvVar, Fact, Override, Support, Target, TorchBuild
from rocm_doctor.model import Diagnosis, Row, last_read
from rocm_doctor.versions import release
from website.sources import source
from website.text import esc, link, prose, slug, table, wrong

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
AREAS = {
    "arch": "GPU targets and overrides", "version": "versions", "access": "access to the GPU", "env": "environment variables",
    "memory": "memory", "numeric": "numbers", "dist": "several GPUs", "lib": "libraries", "hw": "hardware", "platform": "platform",
    "repo": "repositories", "run": "runs",
}  # fmt: skip
COLUMNS = ("Statement", "State", "For", "Source")


class Claim(NamedTuple):
    """One statement. `entry` names it in the matrix; `home` is the place that shows all of it; `where` is HTML."""

    entry: str
    home: str
    words: str
    state: str
    where: str
    grade: str
    checked: datetime.date
    sources: tuple[str, ...]


def of_row(row: Row, when: Mapping[str, str] | None = None) -> Claim:
    """A row. `when`: the conditions to show, where those of the page go without saying."""
    shown = all_conditions(row) if when is None else when
    return Claim(row.key, row_home(row), row.title, row.status, conditions(shown), row.grade, last_read(row), row.sources)


def row_home(row: Row) -> str:
    return f"diagnosis/{row.diagnosis}/#{row.key}"


def of_support(one: Support) -> Claim:
    to = f" to {one.until}" if one.until and one.until != one.since else "" if one.until else " and later"
    where = f"ROCm {one.since}{to}, {system(one.os)}" + (f"; {one.scope}" if one.scope else "")
    return Claim(one.key, f"support/#{one.key}", one.words, one.state, prose(where), one.grade, one.checked, one.sources)


def of_fact(one: Fact) -> Claim:
    parts = (one.version, f"ROCm {one.rocm}" if one.rocm and one.rocm != "any" else "", one.scope)
    where = ", ".join(part for part in parts if part)
    home = f"library/{fact_page(one)}/#{one.key}"
    return Claim(one.key, home, f"{one.subject}: {one.words}", "", prose(where), one.grade, one.checked, one.sources)


def fact_page(one: Fact) -> str:
    """The page of the component that a fact is about."""
    return "pytorch" if one.subject.startswith("PyTorch") else slug(one.subject)


def of_override(target: Target, one: Override) -> Claim:
    entry = f"{OVERRIDE} {one.value} on {target.gfx}"
    home = f"variable/{slug(OVERRIDE)}/#{slug(f'{target.gfx}-{one.value}')}"
    return Claim(entry, home, one.words, one.verdict, f"<code>{esc(one.value)}</code>", one.grade, target.checked, one.sources)


def of_variable(one: EnvVar) -> Claim:
    words = f"{one.effect} {one.harm}".strip()
    return Claim(one.name, f"variable/{slug(one.name)}", words, "", esc(one.platform), one.grade, one.checked, one.sources)


def of_build(build: TorchBuild) -> Claim:
    words = (
        f"{build.gfx_evidence or build.evidence}; rocBLAS {build.blas_evidence}"
        if build.blas
        else build.gfx_evidence or build.evidence
    )
    return Claim(
        build.key, f"torch/{series(build)}/#{slug(build.key)}", words, "", "", build.gfx_grade, build.checked, build.sources
    )


def series(build: TorchBuild) -> str:
    """The page of a wheel: `2.9` for 2.9.1."""
    numbers = release(build.torch)
    return ".".join(map(str, numbers[:2])) if numbers else "other"


def of_target(target: Target) -> Claim:
    return Claim(target.gfx, f"gpu/{target.gfx}", target.notes, "", "", target.grade, target.checked, target.sources)


def of_diagnosis(one: Diagnosis) -> Claim:
    return Claim(one.id, f"diagnosis/{one.id}", one.cause, "", "", "", one.checked, one.sources)


def everything(matrix: Matrix) -> Iterator[Claim]:
    """Every statement of the matrix that the site shows."""
    yield from map(of_row, matrix.rows)
    yield from map(of_support, matrix.support)
    yield from map(of_fact, matrix.facts)
    yield from map(of_variable, matrix.env.values())
    yield from map(of_build, matrix.torch)
    yield from map(of_target, matrix.gfx.values())
    yield from map(of_diagnosis, matrix.diagnoses.values())
    yield from (of_override(target, one) for target in matrix.gfx.values() for one in target.overrides)


def system(name: str) -> str:
    """An operating system as it is written."""
    return {"linux": "Linux", "windows": "Windows", "wsl": "WSL"}[name]


def conditions(when: Mapping[str, str]) -> str:
    """The conditions of a row as HTML."""
    return "; ".join(f"<code>{esc(name)}</code> <code>{esc(condition)}</code>" for name, condition in when.items())


def state(name: str) -> str:
    """A state with its colour; empty for a statement that has none."""
    return f'<span class="state {esc(name)}">{esc(name.replace("-", " "))}</span>' if name else ""


def evidence(one: Claim) -> str:
    """The first source, how many more there are, grade and date, the entry with all of it, and the issue form."""
    return f"{at_home(one)} ({link(one.home, 'entry')}, {wrong(one.entry)})"


def at_home(one: Claim) -> str:
    """The evidence where the entry itself is shown."""
    more = f" and {len(one.sources) - 1} more" if len(one.sources) > 1 else ""
    return f"{source(one.sources[0])}{more}, {one.grade + ', ' if one.grade else ''}{one.checked}"


def line(one: Claim, anchor: str = "") -> str:
    """The row of a table for a statement. `anchor`: set in the place that is its home."""
    name = f' id="{esc(anchor)}"' if anchor else ""
    cells = "".join(f"<td>{cell}</td>" for cell in (prose(one.words), state(one.state), one.where))
    return f'<tr{name} data-claim="{esc(one.entry)}">{cells}{cell(one)}</tr>'


def cell(one: Claim) -> str:
    """The last cell of a statement: its evidence, which the search leaves out."""
    return f"<td data-search-exclude>{evidence(one)}</td>"


def listed(claims: Iterable[Claim], caption: str, kind: str = "claims") -> str:
    """A table of statements; empty when there are none."""
    return table(COLUMNS, map(line, claims), caption, kind)
