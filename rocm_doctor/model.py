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
Status = Literal["works", "degraded", "broken", "unsupported"]
Grade = Literal["official", "upstream", "field"]
Layer = Literal["driver", "runtime", "compiler", "library", "framework", "package", "machine"]
Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
Prior = Literal["common", "possible", "rare"]
Verdict = Literal["ready", "problems", "undetermined"]


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


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One judgement of the matrix: when these conditions hold, this is so, and these sources say it."""

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
    commands: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    prior: Prior = "possible"
    harmless: bool = False
    settle: str = ""
    origin: str = ""


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A root cause in words. Ids are never reused; `criterion` is the one line that decides whether a case is one."""

    id: str
    title: str
    criterion: str
    cause: str
    advice: str
    sources: tuple[str, ...]
    checked: datetime.date
    commands: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    settle: str = ""


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
    commands: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    settle: str = ""
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
