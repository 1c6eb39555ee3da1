"""What reading a shell text needs and gives; and Windows' batch and PowerShell text cut into single commands.

Text of a POSIX shell is parsed by bash.py. For the two of Windows no grammar is at hand: lines are joined and cut at `&&`, `;`, `|`.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Container, Environment, Place, ReadProblem, Setting, Step
from rocm_doctor.lint.environments.words import Kind
from rocm_doctor.lint.readers.files import Tree, joined, quoted

_NAME = regex(r"%(\w+)%|\$(?:\{(\w+)\}|(\w+))")
_SEPARATOR = regex(r"(?:&&|\|\||;|\|) ?")
_COMMENT = regex(r"(?:^|(?<=\s))#.*")
MAX_LINE = 8000
MAX_COMMAND = 100_000
MAX_VALUE = 500
"""Letters of a variable that are kept."""


class Used(NamedTuple):
    """A file of the repository that a command installs from: by which tool, with which extras, before which later step.

    `sure`: False where the command is in a branch that may not run. `isolated`: pip builds it in an environment of its own. `apart` and
    `anew`: those of its step. `frozen`: uv takes the lock as it is. `locked`: the lock exists when the command runs; `lock`: its path at that point. `checks`: the installer holds what the project says of Python against
    the Python of the system or the image.
    """

    tool: str
    path: str
    extras: tuple[str, ...] = ()
    at: int = 0
    sure: bool = True
    isolated: bool = True
    apart: str = ""
    anew: bool = False
    frozen: bool = False
    locked: bool = True
    checks: bool = False
    lock: str = ""


Made = tuple[Environment, Sequence[Used]]
"""An environment, with the files of the repository that it installs from."""


class Build(NamedTuple):
    """How a command or another file says that a Dockerfile is built: the folder that it copies from, build arguments, last stage."""

    dockerfile: str
    context: str
    arguments: tuple[tuple[str, str], ...] = ()
    target: str = ""
    tag: str = ""


def default_dockerfile(tree: Tree, folder: str) -> str:
    """The Dockerfile that a folder is built from where none is named: BuildKit takes one in lower case as well."""
    name = f"{folder}/Dockerfile".lstrip("/")
    lower = f"{folder}/dockerfile".lstrip("/")
    return lower if tree.is_file(lower) and not tree.is_file(name) else name


class Script(NamedTuple):
    """What a shell text sets and does, in order. `used`: files that it installs from, and the tool that reads them. `builds`: the
    images that it builds.

    `unsure`: places of what is in a branch that may not run. `options`: those of the trainings that it starts. `pythons`: those of
    the environments that it makes. `open_ends`: what it runs that is not read. `doubts`: what leaves open whether its GPU is used.
    """

    variables: list[Setting]
    steps: list[Step]
    containers: list[Container]
    used: list[Used]
    problems: list[ReadProblem]
    unsure: list[Place]
    options: list[Setting]
    builds: list[Build]
    pythons: list[Setting]
    open_ends: list[ReadProblem]
    doubts: list[ReadProblem]


def places_of(steps: Iterable[Step]) -> list[Place]:
    """Where the requirements of these steps are written: in a command, or in a list that it reads."""
    return [place for step in steps for place in (step.place, *(r.place for r in step.requirements))]


class Context(NamedTuple):
    """Where a text is run: its tree, the folder that relative names start from, variables, and folders copied into an image.

    `kind`: the hardware whose branches are taken. `start`: the folder that the text begins in, below `copied`. `arguments`: the
    build arguments that its caller may give, `given`: those that it gives. `reading`: the scripts that called this one. `declared`: another file
    says which folder the image is built from.
    """

    tree: Tree
    folder: str
    names: dict[str, str]
    copied: dict[str, str]
    kind: Kind = "amd"
    start: str = ""
    arguments: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    reading: tuple[str, ...] = ()
    declared: bool = False

    @property
    def moved(self) -> bool:
        """True if the text has gone to another folder, so that names are no longer looked for near the script."""
        return self.names.get("WORKDIR", self.start) != self.start

    def at(self, folder: str) -> str:
        """A folder by its whole name, from where the commands are."""
        return posixpath.normpath(posixpath.join("/", self.names.get("WORKDIR", "/"), folder))

    def path(self, name: str) -> str | None:
        """A name of a command as a path of the repository: below what was copied into the image, or beside the script."""
        if "WORKDIR" not in self.names:
            return joined(self.folder, name)
        here = self._below(posixpath.join("/", self.names["WORKDIR"], name))
        if "/" in name or (here and self.tree.is_file(here)):
            return here
        there = (self._below(f"{folder}/{name}") for folder in (*self.names.get("PATH", "").split(":"), *_PROGRAMS))
        return next((path for path in there if path and self.tree.is_file(path)), here)

    def _below(self, name: str) -> str | None:
        at = posixpath.normpath(name)
        for to in sorted(self.copied, key=len, reverse=True):
            if at == to or at.startswith(to.rstrip("/") + "/"):
                return joined(self.copied[to], at[len(to) :].lstrip("/") or ".")
        return None


_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
ROOT = "/repository"
EDITED = "edited "
"""Before the path of a list, as a name: the command that changed it."""
ANEW = "*"
"""In place of that command: the list was written anew."""


def checkout(tree: Tree, folder: str, names: dict[str, str], kind: Kind = "amd") -> Context:
    """Where a script of the repository starts: in its folder, in a checkout whose place is not known. It receives `names`."""
    start = names["WORKDIR"] = f"{ROOT}/{folder}".rstrip("/")
    return Context(tree, folder, names, {ROOT: ""}, kind, start)


def new(variables: Iterable[Setting] = ()) -> Script:
    """A script that has done nothing yet, with the variables that it is given."""
    return Script([*variables], [], [], [], [], [], [], [], [], [], [])


def commands(file: str, text: str, first: int = 1) -> Iterator[tuple[Place, str]]:
    """Single commands with their places: continued lines joined, comments dropped, cut at the separators."""
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), first):
        line = raw[:MAX_LINE].rstrip()
        start = start or number
        if not line.lstrip().startswith(("#", "::", "REM ", "rem ")):
            parts.append(line.removesuffix("^").removesuffix("`"))
        if line.endswith(("^", "`")):
            continue
        yield from _cut(Place(file, start), [(number - len(parts) + 1 + n, part) for n, part in enumerate(parts)])
        start, parts = 0, []


def _cut(place: Place, parts: list[tuple[int, str]]) -> Iterator[tuple[Place, str]]:
    """The commands of one logical line, each at the line on which it begins."""
    offsets, numbers, pieces, size = [], [], [], 0
    for number, part in parts:
        text = " ".join(_COMMENT.sub("", part).split())
        if text:
            offsets.append(size)
            numbers.append(number)
            pieces.append(text + " ")
            size += len(text) + 1
    whole = "".join(pieces)[:MAX_COMMAND]
    at = 0
    for end in [m.span() for m in _SEPARATOR.finditer(whole)] + [(len(whole), len(whole))]:
        piece = whole[at : end[0]].strip()
        if piece:
            yield Place(place.file, numbers[bisect_right(offsets, at) - 1], quoted(piece)), piece
        at = end[1]


def words(command: str) -> list[str]:
    """The words of a command; of one with open quotes, its parts between blanks."""
    try:
        return shlex.split(command.replace("\\", "\\\\"), posix=True)
    except ValueError:
        return command.split()


def filled(text: str, names: dict[str, str]) -> str:
    """`%NAME%` and `$NAME` replaced where the name is known."""

    def value(m: re.Match[str]) -> str:
        return names.get(m[1] or m[2] or m[3], m[0])

    return _NAME.sub(value, text)[:MAX_LINE]
