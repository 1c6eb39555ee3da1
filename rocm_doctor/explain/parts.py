"""What the pages of all subjects have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from rocm_doctor.explain.index import fold
from rocm_doctor.explain.statements import may_hold, state_row
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import NO_FAULT, Command, Grade, Row, last_read
from rocm_doctor.reports.page import Line, Section

_SOURCES = 2
"""Sources of a page beside those of its statements."""
MANY = 6
"""Items of a long list that a short page shows."""
_WORST = ("wrong", "broken", "unsupported", "degraded")


class _Sourced(Protocol):
    @property
    def sources(self) -> tuple[str, ...]: ...


def section(label: str, *lines: Line, short: int | None = None) -> Section:
    """The lines that are not empty. `short`: how many of them a short page shows at most."""
    return Section(label, [line for line in lines if line], short)


def list_faults(rows: Iterable[Row]) -> Section:
    """The section of the rows that name a fault, the worst first."""
    return section("known", *map(state_row, worst_first(rows)), short=MANY)


def count(number: int, noun: str) -> str:
    """The number with its noun: `1 build`, `2 builds`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def introduce_remedy(grade: Grade | None) -> str:
    """`One report says: ` for a remedy of grade field or hearsay; else empty."""
    return "One report says: " if grade in ("field", "hearsay") else ""


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """The rows that name a fault: the worst first, of equals the newest."""
    bad = [row for row in rows if row.status not in NO_FAULT]
    return sorted(bad, key=lambda row: (_WORST.index(row.status), -last_read(row).toordinal()))


def source(*groups: Iterable[_Sourced]) -> Section:
    """The section of the first sources of these entries."""
    return section("source", *list(dict.fromkeys(text for group in groups for one in group for text in one.sources))[:_SOURCES])


def further_commands(typed: str, *commands: str) -> Section:
    """The section with the command that prints all of it, and other commands."""
    return section("more", Command(f"rocm-doctor explain {typed} -v"), *map(Command, commands))


def plan(*options: str) -> tuple[str | Command, ...]:
    """The command that says what to install on a GPU that is not named."""
    return Command(" ".join(("rocm-doctor plan --gpu gfx1100", *options))), "put your target in the place of gfx1100"


def entries(matrix: Matrix, section_: str, of: str) -> list[dict[str, str]]:
    """The entries of a section without a type here that have this folded name."""
    return [one for one in matrix.plain(section_) or () if fold(one["name"].partition("[")[0]) == of]


def asks(when: Mapping[str, str], names: Iterable[str], version: str) -> bool:
    """Whether a row has a condition on one of these facts that names releases, and all of those may hold for the version."""
    asked = [when[name] for name in names if name in when and when[name] not in ("set", "absent") and when[name][0] != "!"]
    return bool(asked) and all(not version or may_hold(one, version) for one in asked)
