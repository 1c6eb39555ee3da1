"""YAML with the line of every value, and without what makes YAML dangerous: tags are not obeyed, aliases cannot multiply.

The text is composed to nodes (which carry their marks) and the nodes are turned into plain values with a budget, so that a
few lines of nested aliases cannot become a million values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, quoted

MAX_NODES = 50_000
MAX_DEPTH = 60


class Node:
    """A value of a YAML file: `value` is a text, a dict or a list of Nodes; `line` is where it (or its key) stands."""

    __slots__ = ("line", "value")

    def __init__(self, value: str | dict[str, Node] | list[Node], line: int) -> None:
        self.value = value
        self.line = line

    def get(self, key: str) -> Node | None:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def items(self) -> list[tuple[str, Node]]:
        return list(self.value.items()) if isinstance(self.value, dict) else []

    def list(self) -> list[Node]:
        return self.value if isinstance(self.value, list) else []

    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""


class _TooMuch(Exception):
    """The aliases of a file multiply beyond what any honest file needs."""


def load(tree: Tree, path: str) -> list[Node]:
    """The documents of a YAML file; empty, with a trouble at its line, when it cannot be read."""
    import yaml

    text = tree.text(path)
    if text is None:
        return []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    budget = [MAX_NODES]
    try:
        return [_node(root, budget, 0) for root in yaml.compose_all(text, loader) if root is not None]
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        words = getattr(exc, "problem", None) or "no YAML"
        tree.problems.append(ReadProblem(Place(path, mark.line + 1 if mark else 1), f"no YAML: {words}"))
    except (_TooMuch, RecursionError):
        tree.problems.append(
            ReadProblem(Place(path, 1), "not read: its aliases or its depth multiply beyond any honest file (a YAML bomb?)")
        )
    except ValueError as exc:
        tree.problems.append(ReadProblem(Place(path, 1), f"no YAML: {str(exc)[:100]}"))
    return []


def _node(node: Any, budget: list[int], depth: int) -> Node:
    """A composed node as ours. PyYAML shares the nodes of aliases, so the copies are counted here."""
    import yaml

    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise _TooMuch
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Node(dict(_pairs(node, budget, depth)), line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_node(item, budget, depth + 1) for item in node.value], line)
    return Node(str(node.value), line)


def _pairs(node: Any, budget: list[int], depth: int) -> Iterator[tuple[str, Node]]:
    """Key and value; the value's line is its key's, where a reader looks. Merge keys (`<<`) bring in their mapping's pairs."""
    for key, value in node.value:
        made = _node(value, budget, depth + 1)
        name = str(key.value) if isinstance(key.value, str) else ""
        if name == "<<":
            merged = [made] if isinstance(made.value, dict) else made.list()
            yield from (pair for one in merged for pair in one.items())
        elif name:
            yield name, Node(made.value, key.start_mark.line + 1)


def place(tree: Tree, path: str, line: int) -> Place:
    """The place of a line of a file, with its words."""
    lines = tree.lines(path)
    return Place(path, line, quoted(lines[line - 1]) if 0 < line <= len(lines) else "")


def scalars(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every text of a document with its dotted path; a list's members share their path."""
    for key, value in node.items():
        yield from scalars(value, f"{prefix}.{key}" if prefix else key)
    for item in node.list():
        yield from scalars(item, prefix)
    if isinstance(node.value, str):
        yield prefix, node
