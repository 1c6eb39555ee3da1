"""A row and a diagnosis of the matrix, as people write them."""

from __future__ import annotations

import datetime
from typing import Literal, Union

import msgspec

from rocm_doctor.model import Command, Grade, Status

Layer = Literal["driver", "runtime", "compiler", "library", "framework", "package", "machine"]
Prior = Literal["common", "possible", "rare"]


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The releases that a row is about. `introduced` and `last_affected` belong to it, `fixed` does not; empty: no such end.

    `line`: the line of torch releases, PyTorch's own (upstream) or AMD's fork (amd), where a fix reached them at different
    versions. `source`: who says that it was fixed, where that is not among the row's own sources.
    """

    introduced: str = ""
    fixed: str = ""
    last_affected: str = ""
    line: Literal["", "upstream", "amd"] = ""
    source: str = ""


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ticket about what a row describes: `owner/repo#number`, its state, and the day that state was seen."""

    id: str
    state: Literal["open", "fixed", "closed"]
    seen: datetime.date


class Verified(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A second reading against the sources, by someone who did not write the row."""

    date: datetime.date
    outcome: Literal["confirmed", "corrected", "narrowed", "unverifiable"]
    by: str = "second reader"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One judgement of the matrix: when these conditions hold, this is so, and these sources say it.

    `affected` adds conditions by range to `when` (matrix/ranges.py). `grade` is that of the cause, and of the range and the
    remedy where they have none of their own. `supersedes`: keys of rows that are left out where this one holds.
    """

    key: str
    """Name of the row, unique in the matrix and never reused. It is shown in brackets, and `--ignore` takes it."""
    diagnosis: str
    """Id of the root cause (`diagnoses.yaml`), whose words fill in what the row leaves out."""
    title: str
    """One line, lower case, at most 80 characters: what is wrong, in the words that a user would search for."""
    when: dict[str, str]
    """Conditions by name of the fact (coords.py); all must hold. compat_matrix/README.md has their syntax."""
    status: Status
    """What happens when the conditions hold. With `grade` it decides the severity."""
    grade: Grade
    """Best kind of source: official (AMD or the project concerned), upstream (its code, its maintainers), field (users), hearsay."""
    layer: Layer
    """Layer that has to change for the problem to go away."""
    cause: str
    """One or two sentences: why."""
    sources: tuple[str, ...]
    """Citations, at least one: URLs, or short names from sources.yaml."""
    checked: datetime.date
    """Day on which the author read the sources."""
    advice: str = ""
    """What to do, verb first. Empty: the advice of the diagnosis, unless the row has commands."""
    commands: tuple[Command, ...] = ()
    """What to paste, in order. Empty: the commands of the diagnosis, unless the row has advice."""
    verify: tuple[Command, ...] = ()
    """Commands that show whether the remedy worked. Empty: those of the diagnosis."""
    after: tuple[str, ...] = ()
    """Ids or keys of findings that cause this one: when one of them is there and at least as severe, this follows from it."""
    prior: Prior = "possible"
    """How often a matching failure line means this. A line alone gives medium confidence when common, else low."""
    harmless: bool = False
    """True: a note, whatever status and grade say."""
    settle: Command | None = None
    """Command whose output would decide the row when a fact is missing, or confirm a hypothesis."""
    affected: dict[str, tuple[Range, ...]] = {}
    """Releases that the row is about, by fact; added to `when` as conditions."""
    range_grade: Union[Grade, None] = None
    """Grade of `affected` where it differs from `grade`."""
    remedy_grade: Union[Grade, None] = None
    """Grade of advice and commands where it differs from `grade`."""
    issues: tuple[Issue, ...] = ()
    """Tickets about it, with the state in which they were seen."""
    aliases: tuple[str, ...] = ()
    """Names by which others know the problem."""
    supersedes: tuple[str, ...] = ()
    """Keys of rows that are left out where this one holds."""
    verified: Union[Verified, None] = None
    """Second reading against the sources."""
    example: str = ""
    """Lines as the software prints them, for which a row that asks for lines holds. `matrix lint` judges them."""
    not_: str = msgspec.field(default="", name="not")
    """Lines that look alike and for which the row must not hold."""


def last_read(row: Row) -> datetime.date:
    """The day on which a row was last read against its sources."""
    return max(row.checked, row.verified.date) if row.verified else row.checked


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A root cause in words. Ids are never reused; `criterion` is the one line that decides whether a case is one."""

    id: str
    """`area.problem`, in words; never reused."""
    title: str
    """One line, lower case: the problem."""
    criterion: str
    """The one line that decides whether a case is this one."""
    cause: str
    """One or two sentences: why."""
    advice: str
    """What to do, verb first."""
    sources: tuple[str, ...]
    """Citations, at least one."""
    checked: datetime.date
    """Day on which the sources were read."""
    commands: tuple[Command, ...] = ()
    """What to paste, in order."""
    verify: tuple[Command, ...] = ()
    """Commands that show whether the remedy worked."""
    settle: Command | None = None
    """Command whose output would confirm or refute it."""
    after: tuple[str, ...] = ()
    """Diagnoses that cause it; a row of this diagnosis has its own."""
