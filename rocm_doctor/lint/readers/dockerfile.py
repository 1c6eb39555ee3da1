"""Dockerfiles: the last stage with those that it is built on. FROM, ENV, ARG and RUN, and what COPY brings into it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Fault, Image, Place, Reason, Unread, Variable
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.commands import Commands
from rocm_doctor.lint.tree import Tree

_INSTRUCTION = regex(r"\s*(FROM|ENV|ARG|RUN|COPY|ADD|WORKDIR|SHELL)\s+", re.I)
_FROM = regex(r"(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*$", re.I)
_PAIR = regex(r'([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s"\']*)')
_FLAGS = regex(r"(?:--[a-z-]+(?:=\S+)?\s+)*")
_HEREDOC = regex(r"<<-?\s*[\"']?(\w+)[\"']?")
_CLONE = regex(r"\bgit\s+clone\s+([^\n;&|\\]*)")


class Instruction(NamedTuple):
    """One instruction with its arguments, continued lines as one; `text` keeps the lines of a RUN for the shell."""

    name: str
    words: str
    line: int
    text: str


class Stage(NamedTuple):
    """A stage: its name, what it starts from, and its instructions."""

    name: str
    base: str
    line: int
    instructions: list[Instruction]


def read(tree: Tree, path: str) -> list[Environment]:
    """An environment for each stage that no other stage is made of: the last one, and those that a build may name."""
    text = tree.text(path) or ""
    stages, arguments = _stages(text)
    if not stages:
        return _read_without_stages(tree, path, text)
    used = {stage.base.lower() for stage in stages}
    used |= {name.lower() for s in stages for one in s.instructions for name in _FROM_STAGE.findall(one.words)}
    ends = [s for s in stages if s is stages[-1] or (s.name and s.name not in used)]
    return [
        _environment(tree, path, text, _chain(end, stages), arguments, stages, end.name if len(ends) > 1 else "") for end in ends
    ]


def _read_without_stages(tree: Tree, path: str, text: str) -> list[Environment]:
    """The environment of a text from which no image is built, with what its instructions say; none for one without any."""
    first = next(_instructions(text), None)
    if first is None:
        return []
    place = tree.place(path, first.line)
    if first.name == "FROM" or _TEMPLATE.search(text):
        unread = Unread(place, Reason.SYNTAX, True)
        return [Environment("image", Place(path, 1), steps=(unread,), unread=(unread,), files=(path,))]
    fault = Fault(
        place, "refused", "this file has no FROM", "A build begins with FROM: Docker and Podman stop at this line.", (_REFERENCE,)
    )
    stage = Stage("", "scratch", first.line, list(_instructions(text)))
    rest = _environment(tree, path, text, [stage], {}, [stage], "")
    return [msgspec.structs.replace(rest, faults=(fault, *rest.faults))]


_TEMPLATE = regex(r"\{\{|\{%|^\s*FROM\b|^\s*#\s*include\b|^\s*INCLUDE\b", re.I | re.M)
_REFERENCE = "https://docs.docker.com/reference/dockerfile/"


def _chain(end: Stage, stages: list[Stage]) -> list[Stage]:
    """The stages that one is built on, from the first image on."""
    chain = [end]
    while base := next((s for s in stages if s.name and s.name == chain[0].base.lower() and s not in chain), None):
        chain.insert(0, base)
    return chain


def _environment(
    tree: Tree, path: str, text: str, chain: list[Stage], arguments: dict[str, str], stages: list[Stage], label: str
) -> Environment:
    image, first = None, []
    name = shell.fill(chain[0].base, arguments)
    place = tree.place(path, chain[0].line)
    if name is None:
        first = [Unread(place, Reason.VARIABLE, True)]
    elif name.lower() != "scratch":
        image = Image(name, place)
    reading = _Reading(tree, path, arguments, stages)
    for stage in chain:
        reading.take(stage)
    variables = tuple({one.name: one for one in reading.variables}.values())
    place = Place(path, chain[-1].line if label else 1)
    return reading.commands.environment(
        "image", place, label, image=image, steps=first, variables=variables, unread=first, text=text
    )


class _Reading:
    """Reads the instructions of a chain of stages. A RUN inside a clone of another repository is `foreign`: its files are not
    this repository's, unless a COPY brought requirements or pyproject before."""

    def __init__(self, tree: Tree, path: str, arguments: dict[str, str], stages: list[Stage]) -> None:
        self.path, self.arguments, self.stages = path, arguments, stages
        self.commands = Commands(tree, _folders(path))
        self.variables: list[Variable] = []
        self.names: dict[str, str] = {}
        self.copied = self.inside_clone = False
        self.taken: list[Stage] = []

    def take(self, stage: Stage) -> None:
        """Read the instructions of a stage."""
        for one in stage.instructions:
            if one.name in ("ENV", "ARG"):
                self._assign(one)
            elif one.name in ("COPY", "ADD"):
                self._copy(one)
            elif one.name == "WORKDIR":
                to = shell.fill(one.words.strip("\"'"), self.names)
                self.commands.workdir = posixpath.join(self.commands.workdir, to or "$")
                self.inside_clone = not self.commands.clones.isdisjoint(one.words.strip("/").split("/"))
            elif one.name == "RUN":
                before = len(self.commands.variables)
                self._clone(one.text)
                self.commands.foreign = self.inside_clone and not self.copied
                self.commands.take(shell.parse(_FLAGS.sub("", one.text, 1), self.path, one.line, self.names))
                self.variables += self.commands.variables[before:]

    def _clone(self, text: str) -> None:
        """Keep the names of folders that hold clones of other repositories; one whose name is not literal may be any."""
        for found in _CLONE.finditer(text):
            words = [w for w in found[1].split() if not w.startswith("-") and not w.isdigit()]
            target = words[-1].strip("\"'") if words else "$"
            self.inside_clone = self.inside_clone or "$" in target or target == "."
            self.commands.clones.add(target.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git"))

    def _assign(self, one: Instruction) -> None:
        for key, raw in _pairs(one):
            value = self.arguments.get(key) if raw is None else shell.fill(raw, self.names)
            if value is None:
                self.names.pop(key, None)
                if raw is not None:
                    self.commands.unread.append(Unread(_find_line(key, one, self.path), Reason.VARIABLE))
                continue
            self.names[key] = value
            self.variables.append(Variable(key, value, _find_line(key, one, self.path)))

    def _copy(self, one: Instruction) -> None:
        """What a COPY brings: files of the repository, or the packages that another stage installed."""
        source = _FROM_STAGE.search(one.words)
        if source is None:
            self.copied = self.copied or "requirements" in one.words or "pyproject" in one.words
            self._record_copied(one)
            return
        if not _PACKAGES.search(one.words):
            return
        other = next((s for s in self.stages if s.name == source[1].lower()), None)
        if other is None or other in self.taken:
            self.commands.steps.append(Unread(Place(self.path, one.line, one.words[:200]), Reason.SCRIPT, True))
            return
        for stage in _chain(other, self.stages):
            if stage not in self.taken:
                self.taken.append(stage)
                self.take(stage)

    def _record_copied(self, one: Instruction) -> None:
        """Keep where a COPY with literal paths puts files and folders of the repository."""
        filled = [shell.fill(word, self.names) for word in one.words.split() if not word.startswith("--")]
        words = [word for word in filled if word is not None]
        if len(words) < 2 or len(words) < len(filled) or "[" in one.words or "$" in self.commands.workdir:
            return
        *sources, to = words
        at = posixpath.normpath(posixpath.join(self.commands.workdir, to))
        for source in sources:
            paths = (posixpath.normpath(f"{folder}/{source}".lstrip("/")) for folder in self.commands.folders)
            is_file = any(self.commands.tree.has(path) for path in paths)
            inside = is_file and (to.endswith(("/", ".")) or len(sources) > 1)
            self.commands.copied.append((f"{at}/{posixpath.basename(source)}" if inside else at, source))


_FROM_STAGE = regex(r"(?:--|,)from=([\w.-]+)")
_PACKAGES = regex(
    r"site-packages|dist-packages|venv|/install|/opt/conda|/wheels|\.whl|/dist|/usr/local(?:\s|/lib)|/root/\.local|/app|/workspace"
)


def _folders(path: str) -> list[str]:
    """Where the files of a build may lie: the folder of the Dockerfile, and those above it."""
    found, folder = [], posixpath.dirname(path)
    while folder:
        found.append(folder)
        folder = posixpath.dirname(folder)
    return [*found, ""]


def _find_line(key: str, one: Instruction, path: str) -> Place:
    word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)")
    for number, line in enumerate(one.text.split("\n")):
        if word.search(line):
            return Place(path, one.line + number, line.strip()[:200])
    return Place(path, one.line, one.words[:200])


def _pairs(one: Instruction) -> Iterator[tuple[str, str | None]]:
    """The names and values of an ENV or ARG; None for an ARG without a default."""
    found = list(_PAIR.finditer(one.words))
    if found:
        for pair in found:
            yield pair[1], pair[2][1:-1] if pair[2][:1] in ("'", '"') else pair[2]
    elif one.name == "ENV":
        key, _, value = one.words.partition(" ")
        yield key, value.strip()
    else:
        yield from ((word, None) for word in one.words.split())


def _stages(text: str) -> tuple[list[Stage], dict[str, str]]:
    """The stages, and the arguments from before the first FROM with their literal defaults."""
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    for one in _instructions(text):
        if one.name == "FROM" and (found := _FROM.match(one.words)):
            stages.append(Stage((found[2] or "").lower(), found[1], one.line, []))
        elif stages:
            stages[-1].instructions.append(one)
        elif one.name == "ARG":
            for key, raw in _pairs(one):
                if raw is not None and (value := shell.fill(raw, arguments)) is not None:
                    arguments[key] = value
    return stages, arguments


def _instructions(text: str) -> Iterator[Instruction]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = _INSTRUCTION.match(lines[at])
        if not found:
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
        name = found[1].upper()
        if name == "RUN" and (document := _HEREDOC.search(parts[0])):
            while at < len(lines) and lines[at].strip() != document[1]:
                parts.append(lines[at])
                at += 1
            at += 1
            parts[0] = ""
        else:
            parts[0] = parts[0][found.end() :]
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
