"""Dockerfiles: the last stage with those that it is built on. FROM, ENV, ARG and RUN, and what COPY brings into it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Image, Place, Unread, UnreadReason, Variable
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.commands import CommandReader
from rocm_doctor.lint.tree import Tree

_INSTRUCTION = regex(r"\s*(FROM|ENV|ARG|RUN|COPY|ADD|WORKDIR|SHELL)\s+", re.I)
_FROM = regex(r"(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*$", re.I)
_PAIR = regex(r'([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s"\']*)')
_FLAGS = regex(r"(?:--[a-z-]+(?:=\S+)?\s+)*")
_HEREDOC = regex(r"<<-?\s*[\"']?(\w+)[\"']?")
_CLONE = regex(r"\bgit\s+clone\b")


class Instruction(NamedTuple):
    """One instruction with its arguments, continued lines as one; `text` keeps the lines of a RUN for the shell."""

    name: str
    words: str
    line: int
    text: str


class BuildStage(NamedTuple):
    """A stage. `base`: the image or the stage that it starts from; `line`: that of its FROM, from 1."""

    name: str
    base: str
    line: int
    instructions: list[Instruction]


def read(tree: Tree, path: str) -> list[Environment]:
    """An environment for each stage that no other stage is made of: the last one, and those that a build may name."""
    text = tree.text(path) or ""
    stages, arguments = _stages(text)
    if not stages:  # a template, or a part of a file
        unread = Unread(Place(path, 1), UnreadReason.SYNTAX, True)
        return [Environment("image", Place(path, 1), steps=(unread,), unread=(unread,), files=(path,))] if text.strip() else []
    used = {stage.base.lower() for stage in stages}
    used |= {name.lower() for s in stages for instruction in s.instructions for name in _FROM_STAGE.findall(instruction.words)}
    ends = [s for s in stages if s is stages[-1] or (s.name and s.name not in used)]
    return [_environment(tree, path, text, _chain(end, stages), arguments, end.name if len(ends) > 1 else "") for end in ends]


def _chain(end: BuildStage, stages: list[BuildStage]) -> list[BuildStage]:
    """The stages that one is built on, from the first image on."""
    chain = [end]
    while base := next((s for s in stages if s.name and s.name == chain[0].base.lower() and s not in chain), None):
        chain.insert(0, base)
    return chain


def _environment(tree: Tree, path: str, text: str, chain: list[BuildStage], arguments: dict[str, str], label: str) -> Environment:
    reading = _Reading(tree, path, arguments)
    name = shell.fill(chain[0].base, arguments)
    place = tree.place(path, chain[0].line)
    if name is None:
        reading.commands.skip(Unread(place, UnreadReason.VARIABLE, True))
    for stage in chain:
        for instruction in stage.instructions:
            reading.take(instruction)
    image = Image(name, place) if name is not None and name.lower() != "scratch" else None
    reading.commands.variables = list(
        {variable.name: variable for variable in reading.commands.variables}.values()
    )  # the last one counts
    return reading.commands.environment("image", Place(path, chain[-1].line if label else 1), label, image=image, text=text)


class _Reading:
    """Reads instructions in their order. Behind a `git clone` the files that a RUN names may be another repository's, unless a COPY brought
    requirements or a project of this one before."""

    def __init__(self, tree: Tree, path: str, arguments: dict[str, str]) -> None:
        self.path, self.arguments = path, arguments
        self.commands = CommandReader(tree, _folders(path))
        self.names: dict[str, str] = {}
        self.has_copied = self.has_cloned = False

    def take(self, instruction: Instruction) -> None:
        if instruction.name in ("ENV", "ARG"):
            self._assign(instruction)
        elif instruction.name in ("COPY", "ADD"):
            if not _FROM_STAGE.search(instruction.words):
                self.has_copied = self.has_copied or _OWN_FILES.search(instruction.words) is not None
            elif _PACKAGES.search(instruction.words):
                self.commands.skip(Unread(Place(self.path, instruction.line, instruction.words[:200]), UnreadReason.SCRIPT, True))
        elif instruction.name == "RUN":
            self.has_cloned = self.has_cloned or _CLONE.search(instruction.text) is not None
            self.commands.foreign = self.has_cloned and not self.has_copied
            self.commands.take(shell.parse(_FLAGS.sub("", instruction.text, 1), self.path, instruction.line, self.names))

    def _assign(self, instruction: Instruction) -> None:
        for key, raw in _pairs(instruction):
            value = self.arguments.get(key) if raw is None else shell.fill(raw, self.names)
            if value is None:
                self.names.pop(key, None)
                if raw is not None:
                    self.commands.skip(Unread(_find_line(key, instruction, self.path), UnreadReason.VARIABLE))
            else:
                self.names[key] = value
                self.commands.variables.append(Variable(key, value, _find_line(key, instruction, self.path)))


_FROM_STAGE = regex(r"(?:--|,)from=([\w.-]+)")
_OWN_FILES = regex(r"requirements|pyproject|(?:^|\s)\./?\s")
"""What a COPY brings of this repository: its requirements, its project, or all of it."""
_PACKAGES = regex(r"site-packages|dist-packages|venv|/opt/conda|/wheels|\.whl|/usr/local(?:\s|/lib)|/root/\.local")
"""Folders of another stage or image that hold installed packages."""


def _folders(path: str) -> list[str]:
    """Where the files of a build may lie: the folder of the Dockerfile, and those above it."""
    folders, folder = [], posixpath.dirname(path)
    while folder:
        folders.append(folder)
        folder = posixpath.dirname(folder)
    return [*folders, ""]


def _find_line(key: str, instruction: Instruction, path: str) -> Place:
    word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)")
    for number, line in enumerate(instruction.text.split("\n")):
        if word.search(line):
            return Place(path, instruction.line + number, line.strip()[:200])
    return Place(path, instruction.line, instruction.words[:200])


def _pairs(instruction: Instruction) -> Iterator[tuple[str, str | None]]:
    """(name, value) for each variable of an ENV or ARG; the value is None for an ARG without a default."""
    pairs = list(_PAIR.finditer(instruction.words))
    if pairs:
        for pair in pairs:
            yield pair[1], pair[2][1:-1] if pair[2][:1] in ("'", '"') else pair[2]
    elif instruction.name == "ENV":
        key, _, value = instruction.words.partition(" ")
        yield key, value.strip()
    else:
        yield from ((word, None) for word in instruction.words.split())


def _stages(text: str) -> tuple[list[BuildStage], dict[str, str]]:
    """The stages, and the arguments from before the first FROM with their literal defaults."""
    stages: list[BuildStage] = []
    arguments: dict[str, str] = {}
    for instruction in _instructions(text):
        if instruction.name == "FROM" and (match := _FROM.match(instruction.words)):
            stages.append(BuildStage((match[2] or "").lower(), match[1], instruction.line, []))
        elif stages:
            stages[-1].instructions.append(instruction)
        elif instruction.name == "ARG":
            for key, raw in _pairs(instruction):
                if raw is not None and (value := shell.fill(raw, arguments)) is not None:
                    arguments[key] = value
    return stages, arguments


def _instructions(text: str) -> Iterator[Instruction]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        match = _INSTRUCTION.match(lines[at])
        if not match:
            at += 1
            continue
        first, parts = at, []
        while at < len(lines):
            line = lines[at]
            comment = line.lstrip().startswith("#")
            parts.append("" if comment else line)
            at += 1
            if not comment and line.strip() and not line.rstrip().endswith("\\"):
                break
            if not comment and not line.strip() and len(parts) == 1:
                break
        name = match[1].upper()
        if name == "RUN" and (document := _HEREDOC.search(parts[0])):
            while at < len(lines) and lines[at].strip() != document[1]:
                parts.append(lines[at])
                at += 1
            at += 1
            parts[0] = ""
        else:
            parts[0] = parts[0][match.end() :]
        # A comment between continued lines is not a line of the shell's command.
        body = "\n".join(
            part if part else ("\\" if 0 < n < len(parts) - 1 and not is_here_document(parts) else "")
            for n, part in enumerate(parts)
        )
        words = " ".join(part.rstrip().rstrip("\\").strip() for part in parts).strip()
        yield Instruction(name, words, first + 1, body)


def is_here_document(parts: list[str]) -> bool:
    """True for the lines of a here-document, which are not continued by a backslash."""
    return parts[:1] == [""]
