"""YAML with the line of every value. No tag but Compose's `!reset` is obeyed; depth and size were bounded before anything was built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.yamls import documents
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, quoted


class Node:
    """A value of a YAML file: `value` is a text, a dict or a list of Nodes; `line` is its line, or that of its key. `null`: nothing is written there."""

    __slots__ = ("line", "null", "value")

    def __init__(self, value: str | dict[str, Node] | list[Node], line: int, *, null: bool = False) -> None:
        self.value = value
        self.line = line
        self.null = null

    def get(self, key: str) -> Node | None:
        """The value of a key; None if it is missing."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def items(self) -> list[tuple[str, Node]]:
        """Keys and values of a mapping."""
        return list(self.value.items()) if isinstance(self.value, dict) else []

    def list(self) -> list[Node]:
        """The items of a sequence."""
        return self.value if isinstance(self.value, list) else []

    def text(self) -> str:
        """The scalar as text; empty for anything else."""
        return self.value if isinstance(self.value, str) else ""


def load(tree: Tree, path: str) -> list[Node]:
    """The documents of a YAML file; empty, with a problem at its line, when it cannot be read."""
    text = tree.text(path)
    return [] if text is None else parsed(tree, path, text)


_TEXT_OR_COMMENT = regex(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*(?s:.*?)\*/""")


def without_comments(text: str) -> str:
    """JSON with comments, or an object of JavaScript, as YAML: each line stays where it is."""
    return _TEXT_OR_COMMENT.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text).replace("\t", "  ")


def parsed(tree: Tree, path: str, text: str) -> list[Node]:
    """The documents of a text of that file; empty, with a problem at its line, when it is no YAML."""
    try:
        return [_node(root) for root in documents(text)]
    except Unreadable as exc:
        tree.problems.append(ReadProblem(Place(path, max(1, exc.line)), f"not read: {exc}"))
        return []


def _node(node: Any) -> Node:
    """A composed node as ours. PyYAML shares the nodes of aliases: `documents` has counted the copies."""
    import yaml

    line = node.start_mark.line + 1
    if node.tag == "!reset":  # Compose takes away what was there
        return Node("", line)
    if isinstance(node, yaml.MappingNode):
        return Node(dict(_pairs(node)), line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_node(item) for item in node.value], line)
    null = node.tag == "tag:yaml.org,2002:null"
    return Node("" if null else str(node.value), line, null=null)


def _pairs(node: Any) -> Iterator[tuple[str, Node]]:
    """Key and value; the value's line is its key's, where a reader looks. Merge keys (`<<`) bring in their mapping's pairs, before the mapping's own,
    which replace them; of several mappings in a list the first one counts.
    """
    named = [(str(key.value) if isinstance(key.value, str) else "", key, value) for key, value in node.value]
    for _, _, value in (one for one in named if one[0] == "<<"):
        made = _node(value)
        merged = [made] if isinstance(made.value, dict) else made.list()[::-1]
        yield from (pair for one in merged for pair in one.items())
    for name, key, value in named:
        if name and name != "<<":
            made = _node(value)
            yield name, Node(made.value, key.start_mark.line + 1, null=made.null)


def repeated(tree: Tree, path: str) -> Place | None:
    """The first place of a file where a mapping has a key that it had before; None where there is none, or the file is no YAML."""
    import yaml

    try:
        pending = documents(tree.text(path, wanted=False) or "")
    except Unreadable:
        return None
    lines = set[int]()
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            seen = set[str]()
            for key, value in node.value:
                pending.append(value)
                lines |= {key.start_mark.line + 1} if str(key.value) in seen else set()
                seen.add(str(key.value))
    return place(tree, path, min(lines)) if lines else None


def place(tree: Tree, path: str, line: int) -> Place:
    """The place of a line of a file, with its words."""
    lines = tree.lines(path)
    return Place(path, line, quoted(lines[line - 1]) if 0 < line <= len(lines) else "")


_BLOCK = regex(r"[|>][+-]?\d?\s*(?:#.*)?$")


def place_of_text(tree: Tree, path: str, node: Node) -> Place:
    """The place of the first line of a text. A block text starts on the line after its key."""
    at = place(tree, path, node.line)
    return place(tree, path, node.line + 1) if _BLOCK.search(at.quote) else at


def scalars(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every text of a document with its dotted path; a list's members share their path."""
    for key, value in node.items():
        yield from scalars(value, f"{prefix}.{key}" if prefix else key)
    for item in node.list():
        yield from scalars(item, prefix)
    if isinstance(node.value, str):
        yield prefix, node
