"""Compose files: each service with its image, devices and variables. A value with `${...}` is read only where its default is literal."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rocm_doctor.bounded import yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Image, Place, Service, Unread, UnreadReason, Variable
from rocm_doctor.lint.readers import dockerfile
from rocm_doctor.lint.tree import Tree

_DEFAULT = regex(r"\$\{\w+:?-([^${}]*)\}")


class YamlNode:
    """A YAML node with its line; `value` is a dict of nodes, a list of nodes, or text."""

    def __init__(self, value: Any, line: int) -> None:
        self.value, self.line = value, line

    def get(self, *keys: str) -> YamlNode | None:
        """The node below these keys; None where it is not there."""
        at: YamlNode | None = self
        for key in keys:
            at = at.value.get(key) if at is not None and isinstance(at.value, dict) else None
        return at

    def items(self, *keys: str) -> list[tuple[str, YamlNode]]:
        """(key, node) for each entry of the mapping below these keys; none where there is no mapping."""
        at = self.get(*keys)
        return list(at.value.items()) if at is not None and isinstance(at.value, dict) else []

    def list(self, *keys: str) -> list[YamlNode]:
        """The nodes of the list below these keys; none where there is no list."""
        at = self.get(*keys)
        return at.value if at is not None and isinstance(at.value, list) else []

    @property
    def text(self) -> str:
        """The text of a scalar; empty for anything else."""
        return self.value if isinstance(self.value, str) else ""


def load(text: str) -> YamlNode | None:
    """The first document, with its lines and with merge keys applied; None for an empty text. Raises Unreadable if it is not
    YAML, or over a limit."""
    documents = yamls.documents(text)
    return _node(documents[0], 0) if documents else None


def _node(node: Any, depth: int) -> YamlNode:
    line = node.start_mark.line + 1
    if depth > yamls.MAX_DEPTH:
        return YamlNode("", line)
    if node.id == "mapping":
        values: dict[str, YamlNode] = {}
        for key, value in node.value:
            merged = _node(value, depth + 1)
            if key.value == "<<":
                for child in [merged] if isinstance(merged.value, dict) else merged.list():
                    values = {**(child.value if isinstance(child.value, dict) else {}), **values}
            elif key.id == "scalar":
                merged.line = key.start_mark.line + 1 if isinstance(merged.value, str) else merged.line
                values[str(key.value)] = merged
        return YamlNode(values, line)
    if node.id == "sequence":
        return YamlNode([_node(value, depth + 1) for value in node.value], line)
    return YamlNode(str(node.value) if node.tag != "tag:yaml.org,2002:null" else None, line)


def literal(text: str) -> str | None:
    """The text as Compose reads it where no variable is set: with literal defaults; None where a variable has none."""
    filled = _DEFAULT.sub(lambda m: m[1], text).replace("$$", "")
    return None if "$" in filled else filled


def read(tree: Tree, path: str) -> list[Environment]:
    """An environment for each service. Raises Unreadable if the file is not YAML, or over a limit."""
    root = load(tree.text(path) or "")
    services = root.items("services") if root else []
    return [_service(tree, name, node, path) for name, node in services if isinstance(node.value, dict)]


def _read_image(tree: Tree, node: YamlNode, path: str) -> Environment | None:
    """The image that a service is built as, where the Dockerfile is in the repository."""
    build = node.get("build")
    if build is None:
        return None
    context = literal(build.text or (stated.text if (stated := build.get("context")) else "."))
    dockerfile_name = literal(file.text if (file := build.get("dockerfile")) else "Dockerfile")
    if context is None or dockerfile_name is None or "://" in context:
        return None
    path_of_dockerfile = posixpath.normpath(posixpath.join(posixpath.dirname(path), context, dockerfile_name))
    return next(iter(dockerfile.read(tree, path_of_dockerfile)), None) if tree.has(path_of_dockerfile) else None


def _service(tree: Tree, name: str, node: YamlNode, path: str) -> Environment:
    def place(one: YamlNode) -> Place:
        return tree.place(path, one.line)

    unread: list[Unread] = []
    image = None
    if (named := node.get("image")) and named.text:
        value = literal(named.text)
        if value is None:
            unread.append(Unread(place(named), UnreadReason.VARIABLE))
        elif not node.get("build"):
            image = Image(value, place(named))
    built = _read_image(tree, node, path) or Environment("service", place(node), image=image)
    variables = {v.name: v for v in built.variables}
    for part in (("environment",), ("build", "args")):
        for key, stated in _assignments(node, *part):
            value = literal(stated.text) if isinstance(stated.value, str) else None
            if value is not None:
                variables[key] = Variable(key, value, place(stated))
            elif isinstance(stated.value, str) and part == ("environment",):
                unread.append(Unread(place(stated), UnreadReason.VARIABLE))
    return msgspec.structs.replace(
        built, kind="service", place=place(node), label=name, variables=tuple(variables.values()), service=_devices(node, place),
        unread=tuple(unread), files=(path, *built.files), faults=(),
    )  # fmt: skip


def _assignments(node: YamlNode, *keys: str) -> Iterator[tuple[str, YamlNode]]:
    """(name, value) for each variable of `environment:` or `args:`, written as a mapping or as a list."""
    yield from node.items(*keys)
    for item in node.list(*keys):
        key, equals, value = item.text.partition("=")
        yield key, YamlNode(value if equals else None, item.line)


def _devices(node: YamlNode, place: Callable[[YamlNode], Place]) -> Service:
    """What a service gets of the machine's devices."""
    devices: list[Variable] = []
    open_ = any(node.get(key) is not None for key in ("extends", "device_cgroup_rules", "gpus"))
    for item in node.list("devices"):
        if isinstance(item.value, dict):
            open_ = True
            continue
        value = literal(item.text)
        open_ = open_ or value is None
        devices.append(Variable("device", (value or "").split(":")[0], place(item)))
    nvidia = None
    runtime = node.get("runtime")
    if runtime and runtime.text == "nvidia":
        nvidia = place(runtime)
    for item in node.list("deploy", "resources", "reservations", "devices"):
        driver = item.get("driver")
        if driver is None or driver.text == "nvidia":
            nvidia = place(driver or item)
        else:
            open_ = True
    privileged = node.get("privileged")
    every = bool(privileged and privileged.text == "true") or any(d.value == "/dev" for d in devices)
    return Service(tuple(devices), every, nvidia, open_)
