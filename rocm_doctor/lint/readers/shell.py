"""Shell text, of scripts, Dockerfiles and workflows, cut into single commands; what they do is read in script.py and installs.py.

No shell is emulated: lines are joined and cut at `&&`, `;`, `|`, each command is split into words, plain `$NAME`s that were
set above are filled in, and what stays unknown stays as it is written.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.lint.declared import Container, Place, Setting, Step
from rocm_doctor.lint.readers.files import Tree, joined, quoted

_NAME = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))|%(\w+)%")
_SEPARATOR = re.compile(r"(?:&&|\|\||;|\|) ?")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
MAX_LINE = 8000
MAX_COMMAND = 100_000


class Script(NamedTuple):
    """What a shell text sets and does, in order. `used`: files that it installs from, and the tool that reads them."""

    env: list[Setting]
    steps: list[Step]
    containers: list[Container]
    used: list[tuple[str, str]]


class Context(NamedTuple):
    """Where a text is run: its tree, the folder that relative names start from, variables, and folders copied into an image."""

    tree: Tree
    folder: str
    names: dict[str, str]
    copied: dict[str, str]

    def path(self, name: str) -> str | None:
        """A name of a command as a path of the repository: below a folder that was copied in, or beside the script."""
        inside = next((name[len(to) :].lstrip("/") for to in self.copied if name == to or name.startswith(to + "/")), None)
        if inside is not None:
            to = next(to for to in self.copied if name == to or name.startswith(to + "/"))
            return joined(self.copied[to], inside or ".")
        return joined(self.folder, name)


def new() -> Script:
    return Script([], [], [], [])


def commands(file: str, text: str, first: int = 1) -> Iterator[tuple[Place, str]]:
    """Single commands with their places: continued lines joined, comments dropped, cut at the shell's separators."""
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), first):
        line = raw[:MAX_LINE].rstrip()
        start = start or number
        if not line.lstrip().startswith(("#", "::", "REM ", "rem ")):
            parts.append(line.removesuffix("\\").removesuffix("`"))
        if line.endswith(("\\", "`")):
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
        return shlex.split(command.replace("\\", "\\\\") if re.search(r"[A-Za-z]:\\", command) else command, posix=True)
    except ValueError:
        return command.split()


def filled(text: str, names: dict[str, str]) -> str:
    """`$NAME`, `${NAME:-default}` and `%NAME%` replaced where the name is known or has a default."""

    def value(m: re.Match[str]) -> str:
        name = m[1] or m[3] or m[4]
        return names.get(name, m[2] if m[2] is not None else m[0])

    return _NAME.sub(value, text)[:MAX_LINE]
