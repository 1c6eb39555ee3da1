"""The types that everything else speaks in. This module imports nothing of ours until a report is rendered: then it loads
`reports/display.py` by name, which `lint-imports` does not see.

Text comes in as an `Artifact`, probes turn it into `Fact`s (each with the `Reading`s it rests on), facts make a `Snapshot`,
rows of the matrix and a few rules judge the snapshot, and the `Finding`s and `Undecided` of a `Report` go to a renderer.
"""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from typing import Any, Literal, NamedTuple, Union

import msgspec

Origin = Literal["live", "bundle", "paste", "declared", "smoke", "example"]
Why = Literal["not-asked", "no-tool", "denied", "unparsed", "timeout", "crashed", "absent-source", "ambiguous", "not-declared"]
Status = Literal["works", "allowed", "degraded", "broken", "unsupported", "wrong"]
"""`allowed`: package metadata or build files accept it, and no source names a run.

`wrong`: it runs to the end without an error and the results are wrong. The most severe: nothing else warns the user."""
Grade = Literal["official", "upstream", "field", "hearsay"]
"""official: AMD's or the project's own publication (documentation, release notes, released files). upstream: its code, its
maintainers, its tracker. field: a report by a user. hearsay: no source that a second reader could follow."""
Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
_HALVES = re.compile("[\ud800-\udfff]")
Verdict = Literal["ready", "problems", "undetermined"]
ReportKind = Literal["machine", "capture", "smoke", "repository", "environment"]
SubjectKind = Literal["machine", "gpu", "target", "environment", "package", "file"]
ReadingOrigin = Literal["text", "target", "matrix", "snapshot", "probe"]
Proof = Literal["proven", "corrected", "word", "withheld"]
Effect = Literal["reads", "environment", "system", "login", "reboot", "destructive"]
Shell = Literal["sh", "powershell"]
Purpose = Literal["plan", "fix", "install", "remove", "pin", "variable", "python"]

_DISPLAY = "rocm_doctor.reports.display"
"""The module that renders the types of this one, which are below it."""


class Displayable:
    """What `print` and a notebook show of a report and a finding: text and Markdown, redacted, since notebooks are shared."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(import_module(_DISPLAY).render_shared(self, "text"))

    def _repr_markdown_(self) -> str:
        return str(import_module(_DISPLAY).render_shared(self, "markdown"))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


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

    def __post_init__(self) -> None:
        """Halves of surrogate pairs, which Python makes of file names and variables that are not UTF-8, cannot be written anywhere."""
        for field in ("name", "text", "note"):
            value = getattr(self, field)
            if not value.isascii() and _HALVES.search(value):
                msgspec.structs.force_setattr(self, field, _HALVES.sub("\ufffd", value))


class Reading(msgspec.Struct, frozen=True):
    """Where a value was read: the artifact's name, the place in it (`line 12`, a key), and the words themselves."""

    artifact: str
    """Name of the artifact, or with another `origin` the name of its replacement."""
    place: str = ""
    """The place in it: `line 12`, a key."""
    quote: str = ""
    """The words themselves."""
    origin: ReadingOrigin = "text"
    """text: an artifact; target: a declared target; matrix: the catalog; snapshot: an absent fact; probe: a crash of ours, or what was too much to read."""

    @property
    def at(self) -> tuple[str, str]:
        """The artifact and the place in it."""
        return self.artifact, self.place


_WHY: dict[Why, str] = {
    "not-asked": "unknown",
    "not-declared": "not declared",
    "no-tool": "tool missing",
    "denied": "permission denied",
    "unparsed": "not understood",
    "timeout": "timed out",
    "crashed": "tool crashed",
    "absent-source": "not found",
    "ambiguous": "ambiguous",
}
"""Why a value is not known, for people."""


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    """A value that could not be had. `candidates` is what it may be when a name fits several."""

    why: Why
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
        """True unless the value is Unknown."""
        return not isinstance(self.value, Unknown)

    @property
    def words(self) -> str:
        """The value for people: `yes`, `gfx1100, gfx942`, `absent`; of an unknown one what it may be, else why it is not known."""
        value = self.value
        if isinstance(value, Unknown):
            return " or ".join(value.candidates) or _WHY[value.why]
        if isinstance(value, tuple):
            return ", ".join(value) or "none"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "absent" if value is None else str(value)


NOT_ASKED = Fact(Unknown("not-asked"))


class Gpu(msgspec.Struct, frozen=True):
    """One GPU: its facts by name (`gfx`, `pci_bdf`, `vram_bytes`, ...: the keys are listed in coords.py)."""

    facts: dict[str, Fact] = {}

    def get(self, key: str) -> Fact:
        """The fact of that name; NOT_ASKED if it was not probed."""
        return self.facts.get(key, NOT_ASKED)

    def value(self, key: str) -> Value:
        """The value of the fact of that name."""
        return self.get(key).value


class Snapshot(msgspec.Struct, frozen=True):
    """Everything known of one machine at one time. `gpus_listed` tells "no GPU" (True, empty) from "not probed".

    A family that was listed whole has a fact under its own name (`env.`): a member that is not among the facts is then absent.
    """

    facts: dict[str, Fact] = {}
    gpus: tuple[Gpu, ...] = ()
    gpus_listed: bool = False
    errors: tuple[Reading, ...] = ()

    def get(self, key: str) -> Fact:
        """The fact of that name; NOT_ASKED when it was not probed."""
        if key in self.facts:
            return self.facts[key]
        listed = self.facts.get(key[: key.find(".") + 1])
        return Fact(None, listed.readings) if listed else NOT_ASKED

    def value(self, key: str) -> Value:
        """The value of the fact of that name."""
        return self.get(key).value


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command as it is pasted: one line of its shell, never wrapped.

    A field that is left empty is worked out from the program (`commands.classify`); then empty means any system, any distribution, no
    purpose that is listed. In YAML a plain string is a command for `sh`.
    """

    text: str = msgspec.field(name="run")
    """The line."""
    shell: Shell = "sh"
    """The shell that it is written for."""
    system: Literal["", "linux", "windows"] = ""
    """The only system that has the program."""
    distributions: tuple[str, ...] = ()
    """Families of Linux distributions that have the program."""
    effect: Literal["", Effect] = ""
    """It reads, changes the environment (of the shell or of Python), changes the system, needs a new login, needs a reboot, or destroys
    something."""
    placeholders: tuple[str, ...] = ()
    """Words to replace."""
    purpose: Literal["", Purpose] = ""
    """plan, fix: our own commands; install, remove: of Python packages; pin: keeps packages at their versions; variable: sets or unsets
    variables of the shell; python: runs Python or one of its tools for anything else."""
    packages: tuple[str, ...] = ()
    """Python packages that it installs, removes, lists or imports."""


NO_FAULT: tuple[Status, ...] = ("works", "allowed")
"""Statuses that name no fault."""
GRADES: tuple[Grade, ...] = ("official", "upstream", "field", "hearsay")
"""Best first."""


class Similar(msgspec.Struct, frozen=True):
    """A confirmed report that reads like this one."""

    thread: str
    """Its address."""
    label: str
    """Its confirmed diagnosis, or `none`."""
    cause: str
    """Its cause in one sentence."""
    fix: str
    """What cured it, in one sentence."""
    likeness: float = 0.0
    """0 to 1: the cosine of the word vectors of both texts."""
    gfx: tuple[str, ...] = ()
    """Targets that it names."""


class Subject(NamedTuple):
    """What a finding is about: its name for people, and what kind of thing it names."""

    name: str = ""
    kind: SubjectKind = "machine"


THE_MACHINE = Subject()


class Finding(Displayable, msgspec.Struct, frozen=True):
    """What is wrong (or worth a note), how sure we are, what was read, and what to type."""

    id: str
    """Id of the diagnosis. `rocm-doctor explain ID` has the whole of it."""
    title: str
    """One line: what is wrong."""
    severity: Severity
    """error: training fails or computes wrong numbers; warning: it may, or runs slowly; note: worth knowing."""
    confidence: Confidence
    """high: facts of the machine decide; medium: a failure line with one common meaning; low: a hypothesis."""
    cause: str
    """One or two sentences: why."""
    row: str = ""
    """Key of the row that made it; empty for a rule in Python."""
    case: str = ""
    """Case of the diagnosis as a rule in Python names it; empty for a row."""
    subject: str = ""
    """What it is about, for people: `GPU 0 (gfx1100)`, a package, a file; empty for the machine as a whole."""
    status: Status = "broken"
    """What happens: wrong (results), broken, degraded, unsupported, or works (a note)."""
    grade: Grade = "field"
    """Best kind of source behind it."""
    evidence: tuple[Reading, ...] = ()
    """The readings that decided, most telling first."""
    advice: str = ""
    """What to do, verb first."""
    commands: tuple[Command, ...] = ()
    """What to paste, in order."""
    verify: tuple[Command, ...] = ()
    """Commands that show whether the remedy worked."""
    sources: tuple[str, ...] = ()
    """Citations."""
    settle: Command | None = None
    """Command whose output would confirm or refute it."""
    follows_from: str = ""
    """Row or id of the finding that causes this one; empty for a root cause."""
    fingerprint: str = ""
    """Hash of id, row and subject: the same problem has it in every report, so baselines compare by it."""
    subject_kind: SubjectKind = "machine"
    """What kind of thing `subject` names."""
    cure: str = ""
    """Key of the cure that advice and commands are from; empty where they are those of the row, the rule or the diagnosis."""
    cure_grade: Union[Grade, None] = None
    """Best kind of source that says that the cure helps."""
    cure_sources: tuple[str, ...] = ()
    """Who says that the cure helps: solved reports, publications."""

    @property
    def leads(self) -> bool:
        """True for a root cause: no consequence of another finding."""
        return not self.follows_from


class Undecided(msgspec.Struct, frozen=True):
    """A judgement that could not be made: which facts it lacks."""

    id: str
    """Id of the diagnosis that could not be ruled out."""
    row: str
    """Key of the row that could not be decided."""
    title: str
    """What would be wrong."""
    missing: tuple[str, ...]
    """Names of the facts that are not known."""


class Question(msgspec.Struct, frozen=True):
    """What to ask: in words, the one command that settles it, and the facts that its output gives."""

    key: str
    """Key of the question, or of the row that it would settle."""
    asks: str
    """What is not known, in words."""
    command: Command
    """What to run; its output, pasted with it, is the answer."""
    facts: tuple[str, ...] = ()
    """Names of the missing facts that it settles."""


class Check(msgspec.Struct, frozen=True):
    """One part of the machine that was checked (driver, access, torch, ...) and what was found; `unknown`: not read."""

    name: str
    """driver, access, the framework, GPU code or libraries."""
    state: Literal["ok", "unknown", "not-judged"]
    """not-judged: only the machine of a declared target could tell."""
    words: str = ""
    """What was found; empty where nothing was read."""


class Proposal(msgspec.Struct, frozen=True):
    """A command that somebody proposes, and what is known of it."""

    proof: Proof
    """proven: all that it names exists and serves the machine; corrected: ours stand in its place; word: nothing speaks for it;
    withheld: it is not shown."""
    because: str
    """What was checked, corrected or withheld, and why."""
    said: str = ""
    """The command as it was proposed; empty where it is withheld."""
    commands: tuple[Command, ...] = ()
    """What to paste; empty unless proven or corrected."""


class Step(msgspec.Struct, frozen=True):
    """One step of a cure that a language model proposes."""

    words: str
    """What to do, in the model's words, with a mark on each version that is not known; empty where they are withheld."""
    proposals: tuple[Proposal, ...] = ()
    """Its commands."""


class Cause(msgspec.Struct, frozen=True):
    """One cause that a language model names."""

    id: str
    """A diagnosis, `none` (nothing is wrong with the GPU's environment), or `other`."""
    words: str
    """Why, in the model's words."""
    evidence: tuple[Reading, ...] = ()
    """Its quotes that are in the text, each with its place."""
    misquoted: int = 0
    """Quotes that stand nowhere in the text, which are left out."""
    steps: tuple[Step, ...] = ()
    """The cure."""
    against: str = ""
    """Title of a finding that evidence decides and that says otherwise."""


class Opinion(msgspec.Struct, frozen=True):
    """What a language model said of the report when it was asked for (`--reader`), and what was proven of it. It changes nothing else."""

    model: str
    """Name of the model."""
    server: str
    """Host that was asked."""
    causes: tuple[Cause, ...] = ()
    """The likeliest first."""
    failure: str = ""
    """Why there is no opinion."""


class Likely(msgspec.Struct, frozen=True):
    """One diagnosis (or `none`: nothing is wrong with the GPU's environment) with the probability that words alone give it."""

    id: str
    title: str
    """Title of the diagnosis; empty for `none`."""
    probability: float
    """0 to 1: docs/differential.md says how often a first answer of some probability was right."""


class Report(Displayable, msgspec.Struct, frozen=True):
    """The result: findings ranked (root causes first), what stayed undecided, and the snapshot they were judged from."""

    schema_version: int
    """Version of this format. docs/report.md says when it rises."""
    tool_version: str
    """Version of rocm-doctor."""
    matrix_version: str
    """Calendar version of the matrix."""
    verdict: Verdict
    """ready, problems, or undetermined when something that training needs is not known."""
    summary: str
    """The verdict in one line."""
    findings: tuple[Finding, ...]
    """Root causes first, then by severity and confidence."""
    undecided: tuple[Undecided, ...]
    """Rows that lack a fact."""
    snapshot: Snapshot
    """The facts that were judged."""
    source: str = "this machine"
    """What was judged, for people: `this machine`, the name of a bundle, `repository NAME`."""
    proven: tuple[str, ...] = ()
    """Stages of the smoke test that passed on a GPU."""
    disputes: tuple[str, ...] = ()
    """Facts on which two sources differ, with both sides."""
    kind: ReportKind = "machine"
    """What was judged: this machine, captured text or a bundle, a run of the smoke test, a repository, or an environment for a declared target."""
    host: str = ""
    """Name of the machine; its pseudonym (`host-` and a stable number, or `<host-1>`) after redaction; empty: not known."""
    questions: tuple[Question, ...] = ()
    """What to ask for the facts that are missing, best first; empty when the verdict is certain."""
    opinion: Union[Opinion, None] = None
    """What a language model said of it; only with --reader."""
    checks: tuple[Check, ...] = ()
    """Each part of the machine that was checked; a part with an error or a warning is left to its findings."""
    differential: tuple[Likely, ...] = ()
    """What the words of a text read like, the most probable first; empty where no text of a person or a failing program was judged."""
    solved: tuple[Similar, ...] = ()
    """Confirmed reports that read like this text and that no fact contradicts, the nearest first."""

    @property
    def guesses(self) -> tuple[Likely, ...]:
        """The diagnoses that are likelier than that nothing is wrong, where no row and no rule found a problem; at most three."""
        if any(f.severity != "note" for f in self.findings):
            return ()
        return tuple(itertools.takewhile(lambda one: one.title, self.differential))[:3]

    def render(self, format: str = "text", *, redact: bool = True) -> str:
        """The report in a format of `check --format`. `redact=False` keeps names, addresses and serial numbers.

        Raises ValueError for a format that there is not.
        """
        return str(import_module(_DISPLAY).render_report(self, format, redact))

    def to_json(self, *, redact: bool = True) -> str:
        """The whole report as JSON, which `read_report` and `rocm-doctor check` read again."""
        return self.render("json", redact=redact)
