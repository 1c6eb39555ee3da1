"""What the matrix holds of words, causes and cures: how people name things and failures, and what repairs them."""

from __future__ import annotations

from typing import Literal, Union

import msgspec

from rocm_doctor.matrix.types import Sourced
from rocm_doctor.model import Command, Confidence, Grade, Severity, Status


class Complaint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people say of any program that fails in one way: a row's log condition names it as `{crash}`."""

    name: str
    any: tuple[str, ...]


class AdviceCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A case of a diagnosis that a rule in Python finds. What it leaves out is the diagnosis'. `{name}` is a value that the rule gives."""

    name: str
    """`ID/CASE`: the diagnosis (`*`: any), and the case as the rule names it."""
    title: str = ""
    cause: str = ""
    advice: str = ""
    commands: Union[tuple[Command, ...], None] = None
    """In a command the name of a value says what it accepts (`commands.fill`); one that refuses its value is left out."""
    verify: tuple[Command, ...] = ()
    settle: Union[Command, None] = None
    severity: Severity = "error"
    confidence: Confidence = "high"
    status: Status = "broken"
    grade: Grade = "field"
    sources: tuple[str, ...] = ()


class Cure(Sourced, frozen=True):
    """What repairs a diagnosis, or the problem of a row, under these conditions.

    Of all cures of a finding whose conditions hold, the one with the most conditions is shown; of equals the first. `{slot}` in `do`
    and in commands is a value of the report (catalog/reports.yaml).
    """

    key: str
    """Name of the cure, unique."""
    of: tuple[str, ...]
    """Ids of diagnoses and keys of rows that it cures. One that names the row comes before those that name its diagnosis."""
    do: str
    """What to do, verb first."""
    when: dict[str, str] = {}
    """Conditions, as in rows. A condition on a fact that is not known does not hold, unless it only excludes (`!`, `absent`)."""
    commands: tuple[Command, ...] = ()
    """What to paste, in order."""
    verify: tuple[Command, ...] = ()
    """Commands that show whether it helped. Empty: those of the finding."""
    before_rows: bool = False
    """True: it is shown in place of the own advice of a row, too, since its conditions tell more than a failure line."""


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A value that a cure takes from the report, and what is written where it is not known.

    `name` begins with what commands accept (`commands.fill`): `gfx`, `version_works`, `gid_render`.
    """

    name: str
    words: str
    """Unknown, in a sentence: `the release that worked`."""
    placeholder: str
    """Unknown, in a command: a word in capitals that the person replaces."""
    tells: Union[Command, None] = None
    """The command that prints the value; none for a value that is in sentences only."""
    fact: str = ""
    """The fact that is the value; `gpu.` for one of the GPU; empty for a value that is worked out (cures/values.py)."""


class QuestionEntry(Sourced, frozen=True):
    """A command that settles facts (`settles`; `pkg.` means the family), on these systems (empty: any). `asks`: what is not known."""

    key: str
    asks: str
    settles: tuple[str, ...]
    command: Command
    systems: tuple[Literal["linux", "wsl", "windows"], ...] = ()


class Application(Sourced, frozen=True):
    """A program that runs on the GPU: how people write its name, and how it is changed."""

    key: str
    title: str
    """Its name in a sentence."""
    names: tuple[str, ...]
    """How texts name it, in lower case."""
    how: dict[str, str]
    """Sentences by what is done (`back` to a version, `update`, a `variable`, another `backend`, its `log`) and system (`back.windows`)."""
    versions: str = ""
    """A pattern of its builds, where they are not dotted numbers."""
    engine: bool = False
    """True for what other programs bring along."""
    own_runtime: bool = False
    """True if it brings its own GPU runtime: Python and torch do not matter to it."""


class Synonym(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people call a thing, and the names under which `explain` has it."""

    names: tuple[str, ...]
    see: tuple[str, ...]
