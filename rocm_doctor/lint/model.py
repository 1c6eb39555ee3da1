"""What a repository declares, each piece with its file and line, and what is found in it."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Literal, Union

import msgspec

from rocm_doctor.model import Grade, Reading, Severity

Kind = Literal["requirements", "project", "image", "service", "script", "policy"]
LISTS: tuple[Kind, ...] = ("requirements", "project")
"""What is written to be installed into an environment of the reader's own."""
Tool = Literal["pip", "uv"]
Audience = Literal["amd", "main", "neutral", "other"]
"""Whom an environment is for. amd: the repository or the command line names it, or its path or its own text says AMD; main: it installs torch
in a repository without an environment for AMD; other: other hardware, tests, archives, vendored folders: it is not judged."""
Effect = Literal["stops", "harms", "informs"]
"""What a problem does. stops: the target cannot train with it; harms: wrong numbers now and then, a slow path, a part that can be done without;
informs: it is worth knowing, and no more."""
FAILS, PASSES, ACCEPTED, OTHER, OPEN = "fails", "passes", "accepted", "-", "?"
"""What a cell of the table says: `-`: the environment is for other GPUs; `?`: nothing in it was judged."""


class UnreadReason(Enum):
    """Why something was not read."""

    VARIABLE = "a variable decides"
    EXPRESSION = "an expression decides"
    BRANCH = "a branch, loop or function"
    SCRIPT = "another script or program"
    MISSING = "a file that is not in the repository"
    SYNTAX = "not parsed"
    CONSTRAINT = "a constraints file"
    IMAGE = "an image whose contents no file names"
    INDEX = "an index whose contents are not known"
    SIZE = "too large"
    DENIED = "not readable"
    TIME = "out of time"


class Place(msgspec.Struct, frozen=True):
    """A file relative to the root of the repository, with `/`; a line from 1 on; the words there."""

    file: str
    line: int
    quote: str = ""

    def reading(self) -> Reading:
        """The place as evidence of a finding."""
        return Reading(self.file, f"line {self.line}", self.quote)


class Unread(msgspec.Struct, frozen=True):
    """Something that was met and not read. `installs`: packages may come by it, so that what is installed afterwards is not certain."""

    place: Place
    reason: UnreadReason
    installs: bool = False


class Requirement(msgspec.Struct, frozen=True):
    """One package: canonical name, specifier (`>=2.1,<3`), where it is asked for, extras, marker as text, address of a wheel or source."""

    name: str
    specifier: str
    place: Place
    extras: tuple[str, ...] = ()
    marker: str = ""
    url: str = ""


class PackageIndex(msgspec.Struct, frozen=True):
    """Where packages may come from. `packages`: those that are bound to it (a source of uv); empty: all."""

    url: str
    role: Literal["default", "extra", "find-links"]
    place: Place
    packages: tuple[str, ...] = ()


class Install(msgspec.Struct, frozen=True):
    """One installation: what is asked for, from where, by which tool. `upgrade`: what is there is not kept. `ignores_installed`: pip does not look at
    what is there (`--target`, `--prefix`, `--ignore-installed`). `is_complete`: the indexes are all that will be asked; false for a file
    whose caller may name more. `without_dependencies`: nothing else is resolved (`--no-deps`)."""

    tool: Tool
    place: Place
    requirements: tuple[Requirement, ...] = ()
    indexes: tuple[PackageIndex, ...] = ()
    upgrade: bool = False
    ignores_installed: bool = False
    is_complete: bool = True
    without_dependencies: bool = False


class Variable(msgspec.Struct, frozen=True):
    """An environment variable or a build argument, with its literal value."""

    name: str
    value: str
    place: Place


class Image(msgspec.Struct, frozen=True):
    """The image that an environment starts from, as its literal name."""

    name: str
    place: Place


class Service(msgspec.Struct, frozen=True):
    """A container that is started. `devices`: the literal devices that it gets; `all_devices`: privileged, or by a mechanism that names
    none; `nvidia`: where it asks for NVIDIA's runtime or driver; `may_have_more`: an include, an extension or a variable may add devices."""

    devices: tuple[Variable, ...] = ()
    all_devices: bool = False
    nvidia: Place | None = None
    may_have_more: bool = False


Step = Union[Install, Unread]


class Environment(msgspec.Struct, frozen=True):
    """One thing that is installed or run: a requirements file, a project with one extra, a stage of a Dockerfile, a service, a
    script. `label`: the part of the file that it is (an extra, a service); `steps`: in their order; `files`: all that it was read
    from; `has_torch_elsewhere`: a comment says that torch comes from elsewhere; `builds`: it compiles something, by make, CMake,
    a setup.py, or pip from a repository."""

    kind: Kind
    place: Place
    label: str = ""
    image: Image | None = None
    steps: tuple[Step, ...] = ()
    variables: tuple[Variable, ...] = ()
    service: Service | None = None
    unread: tuple[Unread, ...] = ()
    files: tuple[str, ...] = ()
    has_torch_elsewhere: bool = False
    faults: tuple[Fault, ...] = ()
    builds: bool = False

    @property
    def file(self) -> str:
        return self.place.file

    @property
    def name(self) -> str:
        """The environment as a report names it: `pyproject.toml [rocm]`."""
        return f"{self.place.file} [{self.label}]" if self.label else self.place.file

    @property
    def installs(self) -> list[Install]:
        """The installations that were read."""
        return [step for step in self.steps if isinstance(step, Install)]

    def is_certain_before(self, step: Install) -> bool:
        """True if nothing that was not read may have installed packages before an installation."""
        return not any(isinstance(other, Unread) for other in self.steps[: self.steps.index(step)])

    @property
    def requirements(self) -> list[Requirement]:
        return [r for step in self.installs for r in step.requirements]


class Fault(msgspec.Struct, frozen=True):
    """What is wrong in the text itself, whatever the GPU. refused: a line that pip does not take; missing: an included file that is not
    there; redirect: a version that the shell takes for a file; path: a requirement on the disk of its writer; policy: a declaration."""

    place: Place
    kind: Literal["refused", "missing", "redirect", "path", "policy"]
    title: str
    cause: str


class LintTarget(msgspec.Struct, frozen=True):
    """A machine as it is declared. `name` is the user's; a field that is not declared is empty; `place` is None for the command
    line."""

    name: str
    gpu: str = ""
    rocm: str = ""
    driver: str = ""
    python: str = ""
    os: str = "linux"
    place: Place | None = None

    def reading(self) -> Reading:
        """The GPU as evidence of a finding."""
        if self.place is None:
            return Reading("command line", "--gpu", self.gpu, "target")
        return Reading(self.place.file, f"line {self.place.line}", f"{self.name}: gpu {self.gpu}", "target")


class Problem(msgspec.Struct, frozen=True):
    """What a rule found. `key`: what is the same for two findings with one cause. `is_literal`: every line that it needs was read word for
    word, and nothing unread may change it. `gpus`: the targets that it was found for. `hints`: what to write in its place, a sentence each."""

    id: str
    title: str
    cause: str
    places: tuple[Place, ...]
    environment: Environment
    target: LintTarget
    row: str = ""
    key: tuple[str, ...] = ()
    is_literal: bool = True
    severity: Severity = "note"
    effect: Effect = "stops"
    sources: tuple[str, ...] = ()
    grade: Grade = "official"
    hints: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()

    @property
    def cause_key(self) -> tuple[object, ...]:
        """A key that is equal for two problems of one reason, whatever their environment and target."""
        return (self.id, self.row, *(self.key or (self.places[0].file, self.places[0].line)))


class Ignore(msgspec.Struct, frozen=True):
    """A finding that the repository accepts until a day. `file`: a path or pattern; empty: everywhere."""

    id: str
    reason: str
    until: datetime.date
    place: Place
    file: str = ""


class LintPolicy(msgspec.Struct, frozen=True):
    """What the repository says to rocm-doctor. `environments`: files, or `file [label]`, that are meant for AMD GPUs; `exclude`:
    patterns of files that are not read; `fail_on`: the severity (empty: not declared); `faults`: what is wrong in the policy
    itself."""

    targets: tuple[LintTarget, ...] = ()
    environments: tuple[str, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    fail_on: str = ""
    exclude: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
