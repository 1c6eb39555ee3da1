"""The types that everything else speaks in. This module imports nothing of ours.

Text comes in as an `Artifact`, probes turn it into `Fact`s (each with the `Reading`s it rests on), facts make a `Snapshot`,
rows of the matrix and a few rules judge the snapshot, and the `Finding`s and `Undecided` of a `Report` go to a renderer.
"""

from __future__ import annotations

import datetime
from typing import Literal, Union

import msgspec

Origin = Literal["live", "bundle", "paste", "declared", "smoke", "example"]
Why = Literal["not-asked", "no-tool", "denied", "unparsed", "timeout", "crashed", "absent-source", "ambiguous", "not-declared"]
Status = Literal["works", "degraded", "broken", "unsupported", "wrong"]
"""`wrong`: it runs to the end without an error and the results are wrong. The most severe: nothing else warns the user."""
Grade = Literal["official", "upstream", "field", "hearsay"]
"""official: AMD's or the project's own publication (documentation, release notes, released files). upstream: its code, its
maintainers, its tracker. field: a report by a user. hearsay: no source that a second reader could follow."""
Layer = Literal["driver", "runtime", "compiler", "library", "framework", "package", "machine"]
Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
Prior = Literal["common", "possible", "rare"]
Verdict = Literal["ready", "problems", "undetermined"]
Effect = Literal["reads", "environment", "system", "login", "reboot", "destructive"]


class Artifact(msgspec.Struct, frozen=True):
    """What was read, verbatim: one file, one command's output, one piece of a pasted text.

    `name` says what it is whichever way it came: a path without its leading slash (`sys/module/amdgpu/version`), `cmd/rocminfo`
    for a command's output, `env`, `log/train.log`, `paste/2-rocminfo`. `missing` is set when there is nothing to read: why.
    """

    name: str
    origin: Origin
    text: str = ""
    returncode: int | None = None
    seconds: float | None = None
    missing: Why | None = None
    note: str = ""


class Reading(msgspec.Struct, frozen=True):
    """Where a value was read: the artifact's name, the place in it (`line 12`, a key), and the words themselves."""

    artifact: str
    place: str = ""
    quote: str = ""


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    """A value that could not be had. `hint` says how to supply it; `candidates` is what it may be when a name fits several."""

    why: Why
    hint: str = ""
    candidates: tuple[str, ...] = ()


Plain = Union[bool, int, float, str]
Value = Union[bool, int, float, str, tuple[str, ...], Unknown, None]


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value with its readings. `None` means: looked, and it is not there. `disputed` holds readings that said otherwise."""

    value: Value = None
    readings: tuple[Reading, ...] = ()
    disputed: tuple[Reading, ...] = ()

    @property
    def known(self) -> bool:
        return not isinstance(self.value, Unknown)


NOT_ASKED = Fact(Unknown("not-asked"))


class Gpu(msgspec.Struct, frozen=True):
    """One GPU: its facts by name (`gfx`, `pci_bdf`, `vram_bytes`, ...: the keys are listed in coords.py)."""

    facts: dict[str, Fact] = {}

    def get(self, key: str) -> Fact:
        return self.facts.get(key, NOT_ASKED)


class Snapshot(msgspec.Struct, frozen=True):
    """Everything known of one machine at one time. `gpus_listed` tells "no GPU is there" (True, empty) from "nobody looked".

    A family that was listed whole has a fact under its own name (`env.`): a member that is not among the facts is then absent.
    """

    facts: dict[str, Fact] = {}
    gpus: tuple[Gpu, ...] = ()
    gpus_listed: bool = False
    errors: tuple[Reading, ...] = ()

    def get(self, key: str) -> Fact:
        """The fact of that name; NOT_ASKED when nobody looked."""
        listed = self.facts.get(key[: key.find(".") + 1])
        return self.facts.get(key) or (Fact(None, listed.readings) if listed else NOT_ASKED)


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


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command as it is pasted: one line of its shell, never wrapped.

    `effect`: reads, changes the environment (of the shell or of Python), changes the system, needs a new login, needs a reboot, or
    destroys something; empty: worked out from the program (`commands.typed`), as are `system` (empty: any), `distributions` (families
    that have the program; empty: any) and `placeholders` (words to replace). In YAML a plain string is a command for `sh`.
    """

    text: str = msgspec.field(name="run")
    shell: Literal["sh", "powershell"] = "sh"
    system: Literal["", "linux", "windows"] = ""
    distributions: tuple[str, ...] = ()
    effect: Literal["", Effect] = ""
    placeholders: tuple[str, ...] = ()


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One judgement of the matrix: when these conditions hold, this is so, and these sources say it.

    `affected` adds conditions by range to `when` (matrix/ranges.py). `grade` is that of the cause, and of the range and the
    remedy where they have none of their own. `supersedes`: keys of rows that no longer count where this one holds.
    """

    key: str
    diagnosis: str
    title: str
    when: dict[str, str]
    status: Status
    grade: Grade
    layer: Layer
    cause: str
    sources: tuple[str, ...]
    checked: datetime.date
    advice: str = ""
    commands: tuple[Command, ...] = ()
    verify: tuple[Command, ...] = ()
    after: tuple[str, ...] = ()
    prior: Prior = "possible"
    harmless: bool = False
    settle: Command | None = None
    affected: dict[str, tuple[Range, ...]] = {}
    range_grade: Union[Grade, None] = None
    remedy_grade: Union[Grade, None] = None
    issues: tuple[Issue, ...] = ()
    aliases: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    verified: Union[Verified, None] = None
    origin: str = ""


GRADES: tuple[Grade, ...] = ("official", "upstream", "field", "hearsay")
"""Best first."""


def as_of(row: Row) -> datetime.date:
    """The day on which a row was last read against its sources."""
    return max(row.checked, row.verified.date) if row.verified else row.checked


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A root cause in words. Ids are never reused; `criterion` is the one line that decides whether a case is one."""

    id: str
    title: str
    criterion: str
    cause: str
    advice: str
    sources: tuple[str, ...]
    checked: datetime.date
    commands: tuple[Command, ...] = ()
    verify: tuple[Command, ...] = ()
    settle: Command | None = None


class Finding(msgspec.Struct, frozen=True):
    """What is wrong (or worth a note), how sure we are, what was read, and what to type."""

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    cause: str
    row: str = ""
    subject: str = ""
    status: Status = "broken"
    grade: Grade = "field"
    evidence: tuple[Reading, ...] = ()
    advice: str = ""
    commands: tuple[Command, ...] = ()
    verify: tuple[Command, ...] = ()
    sources: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    settle: Command | None = None
    follows_from: str = ""
    origin: str = ""
    fingerprint: str = ""


class Undecided(msgspec.Struct, frozen=True):
    """A judgement that could not be made: which facts it lacks, and how to supply them."""

    id: str
    row: str
    title: str
    missing: tuple[str, ...]
    hint: str = ""


class Report(msgspec.Struct, frozen=True):
    """The result: findings ranked (root causes first), what stayed undecided, and the snapshot they were judged from."""

    schema_version: int
    tool_version: str
    matrix_version: str
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    snapshot: Snapshot
    source: str = "this machine"
    proven: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()
