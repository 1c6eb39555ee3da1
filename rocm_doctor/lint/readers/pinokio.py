"""Launchers of Pinokio: steps with conditions on platform and GPU, one environment for each that is judged.

Reference: https://docs.pinokio.co/docs/Script/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Purpose, ReadProblem, Setting
from rocm_doctor.lint.environments.words import Kind
from rocm_doctor.lint.readers import script, shell, yamls
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.shell import Made, places_of
from rocm_doctor.lint.readers.yamls import Node

_EXPORTED = regex(r"^module\.exports\s*=\s*(?=\{)", re.M)
_EXPRESSION = regex(r"\{\{.*?\}\}")
_COMPARED = regex(r"(gpu|platform)\s*([!=])==?\s*['\"](\w+)['\"]")
_MAX_CONDITION = 500
_MAX_CALLS = 6


class _Machine(NamedTuple):
    """A machine as conditions name it, and as a target does."""

    gpu: Kind
    platform: str
    os: str


_MACHINES = (_Machine("amd", "linux", "linux"), _Machine("amd", "win32", "windows"), _Machine("nvidia", "linux", "linux"))


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """What a launcher installs on each machine; one that another file of its folder starts is read there."""
    text = tree.text(path, wanted=False) or ""
    if "shell.run" not in text or not script.speaks(text) or _is_started(tree, path):
        return
    run = _run(tree, path)
    for machine in _MACHINES if run else ():
        reading = _Reading(tree, machine, path)
        reading.steps_of(path, run, ())
        found = reading.found
        if found.steps or found.used:
            purpose = Purpose(machine.gpu, f"gpu === '{machine.gpu}'", reading.named) if reading.named else Purpose()
            if machine.gpu == "amd" or reading.named:
                yield Environment(
                    f"{path} for {machine.gpu} on {machine.os}" if reading.named else f"{path} on {machine.os}",
                    Place(path, found.steps[0].place.line if found.steps else 1), steps=tuple(found.steps),
                    variables=tuple(found.variables), sort="script", os=machine.os, purpose=purpose,
                    unresolved=tuple(found.problems), unsure=tuple(found.unsure),
                ), found.used  # fmt: skip


def _is_started(tree: Tree, path: str) -> bool:
    installer = joined(folder_of(path), "install.js")
    if installer is None or installer == path or not tree.is_file(installer):
        return False
    return path.rsplit("/", 1)[-1] in (tree.text(installer, wanted=False) or "")


def _run(tree: Tree, path: str) -> list[Node]:
    """The steps of a launcher; none, with a problem at its place, for one that is a function or otherwise no plain data."""
    text = tree.text(path, wanted=False) or ""
    start = _EXPORTED.search(text)
    if start is None:
        tree.problems.append(ReadProblem(Place(path, 1), "not read: the steps of this launcher are computed"))
        return []
    data = text[start.end() : text.rfind("}") + 1]
    roots = yamls.parsed(tree, path, yamls.without_comments("\n" * text.count("\n", 0, start.end()) + data))
    run = roots[0].get("run") if roots else None
    return run.list() if run else []


class _Reading:
    """The state of one machine's way through a launcher. `named`: where a condition that it meets names its GPU."""

    def __init__(self, tree: Tree, machine: _Machine, path: str) -> None:
        self.tree = tree
        self.known = {"gpu": machine.gpu, "platform": machine.platform}
        self.found = shell.new()
        self.context = shell.checkout(tree, folder_of(path), {})
        self.named: Place | None = None

    def steps_of(self, path: str, run: list[Node], callers: tuple[str, ...]) -> None:
        """Read the steps that this machine takes, to the end or to one that is the last (`next: null`)."""
        for node in run:
            when, after = node.get("when"), node.get("next")
            condition = when.text().strip().removeprefix("{{").removesuffix("}}") if when else ""
            met = holds(condition, self.known) if when else True
            if met is False:
                continue
            before, used = len(self.found.steps), len(self.found.used)
            self._step(path, node, callers)
            if len(self.found.steps) > before and when and re.search(rf"gpu\s*===?\s*['\"]{self.known['gpu']}", condition):
                self.named = self.named or yamls.place(self.tree, path, when.line)
            if met is None:
                self.found.unsure.extend(places_of(self.found.steps[before:]))
                self.found.used[used:] = [file._replace(sure=False) for file in self.found.used[used:]]
            elif after is not None and after.text() == "null":
                return

    def _step(self, path: str, node: Node, callers: tuple[str, ...]) -> None:
        method, params = node.get("method"), node.get("params") or Node({}, node.line)
        if method and method.text() == "script.start":
            uri = params.get("uri")
            called = joined(folder_of(path), uri.text()) if uri else None
            if called and called not in callers and len(callers) < _MAX_CALLS and self.tree.is_file(called):
                self.steps_of(called, _run(self.tree, called), (*callers, path))
        elif method and method.text() == "shell.run":
            self._commands(path, params)

    def _commands(self, path: str, params: Node) -> None:
        folder, message, env = params.get("path"), params.get("message"), params.get("env")
        name = folder.text() if folder and "{{" not in folder.text() else "."
        self.context.names["WORKDIR"] = posixpath.normpath(posixpath.join(self.context.start, name))
        for key, value in env.items() if env else ():
            self.found.variables.append(Setting(key, value.text(), yamls.place(self.tree, path, value.line)))
        for one in (message.list() or [message]) if message else ():
            place = yamls.place(self.tree, path, one.line)
            script.read(_EXPRESSION.sub("", one.text()), place, self.context, self.found)


def holds(condition: str, known: Mapping[str, str]) -> bool | None:
    """Whether a condition of JavaScript is met; None where these values do not decide it.

    >>> holds("platform === 'linux' && (gpu !== 'nvidia' || x)", {"gpu": "amd", "platform": "linux"})
    True
    >>> holds("gpu === 'amd' && kernel.gpu_model", {"gpu": "amd"}) is None
    True
    """
    words = condition.strip()
    if len(words) > _MAX_CONDITION:
        return None
    for operator, decides in (("||", True), ("&&", False)):
        parts = _parts(words, operator)
        if len(parts) > 1:
            values = [holds(part, known) for part in parts]
            return decides if decides in values else None if None in values else not decides
    if words.startswith("(") and words.endswith(")"):
        return holds(words[1:-1], known)
    if words.startswith("!"):
        value = holds(words[1:], known)
        return None if value is None else not value
    compared = _COMPARED.fullmatch(words)
    if compared is None or compared[1] not in known:
        return None
    return (known[compared[1]] == compared[3]) is (compared[2] == "=")


def _parts(words: str, operator: str) -> list[str]:
    """The operands of an operator outside of parentheses."""
    parts, depth = [""], 0
    for piece in re.split(rf"({re.escape(operator)}|[()])", words):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if piece == operator and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
