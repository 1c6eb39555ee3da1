"""Compose files: each service with its image, devices and variables. A value with `${...}` is read only where its default is literal."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from rocm_doctor.bounded import Unreadable, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Image, Place, Reason, Service, Unread, Variable, unread_environment
from rocm_doctor.lint.readers import dockerfile
from rocm_doctor.lint.tree import Tree

_DEFAULT = regex(r"\$\{\w+:?-([^${}]*)\}")
_SERVICES = regex(r"^services:", re.M)


class Node:
    """A YAML node with its line; `value` is a dict of nodes, a list of nodes, or text."""

    def __init__(self, value: Any, line: int) -> None:
        self.value, self.line = value, line

    def get(self, *keys: str) -> Node | None:
        """The node below these keys; None where it is not there."""
        at: Node | None = self
        for key in keys:
            at = at.value.get(key) if at is not None and isinstance(at.value, dict) else None
        return at

    def items(self) -> list[tuple[str, Node]]:
        """The keys and nodes of a mapping."""
        return list(self.value.items()) if isinstance(self.value, dict) else []

    def list(self) -> list[Node]:
        """The nodes of a list."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str:
        """The text of a scalar; empty for anything else."""
        return self.value if isinstance(self.value, str) else ""


def load(text: str) -> Node | None:
    """The first document, with its lines; merge keys are applied. Raises Unreadable."""
    documents = yamls.documents(text)
    return _node(documents[0], 0) if documents else None


def _node(node: Any, depth: int) -> Node:
    line = node.start_mark.line + 1
    if depth > yamls.MAX_DEPTH:
        return Node("", line)
    if node.id == "mapping":
        values: dict[str, Node] = {}
        for key, value in node.value:
            made = _node(value, depth + 1)
            if key.value == "<<":
                for one in [made] if isinstance(made.value, dict) else made.list():
                    values = {**(one.value if isinstance(one.value, dict) else {}), **values}
            elif key.id == "scalar":
                made.line = key.start_mark.line + 1 if isinstance(made.value, str) else made.line
                values[str(key.value)] = made
        return Node(values, line)
    if node.id == "sequence":
        return Node([_node(value, depth + 1) for value in node.value], line)
    return Node(str(node.value) if node.tag != "tag:yaml.org,2002:null" else None, line)


def literal(text: str) -> str | None:
    """The text as Compose reads it where no variable is set: with literal defaults; None where a variable has none."""
    filled = _DEFAULT.sub(lambda m: m[1], text).replace("$$", "")
    return None if "$" in filled else filled


def is_compose(text: str) -> bool:
    """True for a text with services."""
    return _SERVICES.search(text) is not None


def read(tree: Tree, path: str) -> list[Environment]:
    """Each service."""
    text = tree.text(path) or ""
    try:
        root = load(text)
    except Unreadable as exc:
        return [unread_environment("service", path, exc.line)]
    services = root.get("services") if root else None
    lines = text.split("\n")
    listed = services.items() if services else []
    return [_service(tree, name, node, path, lines) for name, node in listed if isinstance(node.value, dict)]


def _built_image(tree: Tree, node: Node, path: str) -> Environment | None:
    """The image that a service is built as, where the Dockerfile is in the repository."""
    build = node.get("build")
    if build is None:
        return None
    context = literal(build.text or (stated.text if (stated := build.get("context")) else "."))
    named = literal(file.text if (file := build.get("dockerfile")) else "Dockerfile")
    if context is None or named is None or "://" in context:
        return None
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), context, named))
    return next(iter(dockerfile.read(tree, found)), None) if tree.has(found) else None


def _service(tree: Tree, name: str, node: Node, path: str, lines: list[str]) -> Environment:
    def place(one: Node) -> Place:
        return Place(path, one.line, lines[one.line - 1].strip()[:200])

    unread: list[Unread] = []
    image = None
    if (stated := node.get("image")) and stated.text:
        value = literal(stated.text)
        if value is None:
            unread.append(Unread(place(stated), Reason.VARIABLE))
        elif not node.get("build"):
            image = Image(value, place(stated))
    variables: list[Variable] = []
    for key, value_node in _assignments(node.get("environment")):
        value = literal(value_node.text) if isinstance(value_node.value, str) else None
        if value is None and isinstance(value_node.value, str):
            unread.append(Unread(place(value_node), Reason.VARIABLE))
        elif value is not None:
            variables.append(Variable(key, value, place(value_node)))
    for key, value_node in _assignments(node.get("build", "args")):
        if isinstance(value_node.value, str) and (value := literal(value_node.text)) is not None:
            variables.append(Variable(key, value, place(value_node)))
    built = _built_image(tree, node, path)
    return Environment(
        "service", place(node), name, image=built.image if built else image, steps=built.steps if built else (),
        variables=tuple({v.name: v for v in (*(built.variables if built else ()), *variables)}.values()), service=_devices(node, place),
        unread=tuple(unread), files=(path, *(built.files if built else ())), elsewhere=built.elsewhere if built else False, builds=built.builds if built else False,
    )  # fmt: skip


def _assignments(node: Node | None) -> Iterator[tuple[str, Node]]:
    """The names and values of `environment:`, written as a mapping or as a list."""
    if node is None:
        return
    yield from node.items()
    for one in node.list():
        key, equals, value = one.text.partition("=")
        yield key, Node(value if equals else None, one.line)


def _devices(node: Node, place: Any) -> Service:
    devices: list[Variable] = []
    open_ = node.get("extends") is not None or node.get("device_cgroup_rules") is not None
    for one in node.get("devices").list() if node.get("devices") else []:  # type: ignore[union-attr]
        if isinstance(one.value, dict):
            open_ = True
            continue
        value = literal(one.text)
        open_ = open_ or value is None
        devices.append(Variable("device", (value or "").split(":")[0], place(one)))
    nvidia = None
    runtime = node.get("runtime")
    if runtime and runtime.text == "nvidia":
        nvidia = place(runtime)
    reserved = node.get("deploy", "resources", "reservations", "devices")
    for one in reserved.list() if reserved else []:
        driver = one.get("driver")
        if driver is None or driver.text == "nvidia":
            nvidia = place(driver or one)
        else:
            open_ = True
    privileged = node.get("privileged")
    every = bool(privileged and privileged.text == "true") or any(d.value == "/dev" for d in devices)
    return Service(tuple(devices), every, nvidia, open_ or node.get("gpus") is not None)
