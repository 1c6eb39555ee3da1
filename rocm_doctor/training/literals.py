"""The literal values of a configuration or a script, each with its place in the text. Nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rocm_doctor.bounded import Unreadable, yamls

CALLS_MOST = 5_000
"""Calls of a script that are looked at."""


class Leaf(msgspec.Struct, frozen=True):
    """One value and the line that it is on; `why` says what it is instead of a literal."""

    key: str
    value: Any
    line: int
    why: str = ""


class Call(NamedTuple):
    """A call in a script: its dotted name, the values of its arguments (positional ones by their number), its line."""

    name: str
    leaves: tuple[Leaf, ...]
    line: int


def read_yaml(text: str) -> dict[str, Leaf]:
    """The values of a YAML or JSON document by dotted key. Raises Unreadable if it is neither, or is not one mapping."""
    values, roots = yamls.values(text), yamls.documents(text)
    if not isinstance(values, dict) or len(roots) != 1:
        raise Unreadable("expected keys and values at the top", 1)
    return {leaf.key: leaf for leaf in _read_node("", values, roots[0])}


def _read_node(prefix: str, values: Mapping[Any, Any], node: Any) -> Iterator[Leaf]:
    spelled = {name: value for key, value in values.items() for name in (_yaml_key(key), str(key))}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        value = spelled.get(key)
        if isinstance(value, dict) and isinstance(value_node.value, list):
            yield from _read_node(f"{prefix}{key}.", value, value_node)
        why = "an expression" if isinstance(value, str) and ("${" in value or "{{" in value) else ""
        yield Leaf(prefix + key, value, value_node.start_mark.line + 1, why)


def _yaml_key(key: Any) -> str:
    """A key as YAML spells it: `true` for True."""
    return str(key).lower() if isinstance(key, bool) else str(key)


def read_script(text: str) -> list[Call]:
    """The calls of a Python script in the order of their lines, of the first CALLS_MOST those with a name. Raises Unreadable if
    it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise Unreadable(f"no Python: {getattr(exc, 'msg', exc)}", getattr(exc, "lineno", 0) or 0) from exc
    constants = _constants(tree)
    calls = [node for node in _reachable(tree) if isinstance(node, ast.Call)][:CALLS_MOST]
    named_calls = [Call(_dotted_name(node.func), tuple(_arguments(node, constants)), node.lineno) for node in calls]
    return sorted((call for call in named_calls if call.name), key=lambda call: call.line)


def _reachable(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without what is under `if False:`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        dead = isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        waiting += node.orelse if dead and isinstance(node, ast.If) else ast.iter_child_nodes(node)


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """The values of names that the script sets once, wherever it does, and that are not parameters."""
    stored: list[str] = []
    values: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored.append(node.id)
        elif isinstance(node, ast.arg):
            stored += [node.arg, node.arg]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values.update({target.id: node.value for target in targets if isinstance(target, ast.Name)})
    return {name: value for name, value in values.items() if stored.count(name) == 1}


def _dotted_name(node: ast.expr) -> str:
    """`a.b.c` of an attribute or a name, empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted_name(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


def _arguments(call: ast.Call, constants: Mapping[str, ast.expr]) -> Iterator[Leaf]:
    for number, node in enumerate(call.args):
        yield _read_leaf(str(number), node, constants)
    for word in call.keywords:
        if word.arg is None:
            yield Leaf("**", None, word.lineno, why="keywords that are computed")
        elif isinstance(word.value, ast.Dict) and all(isinstance(k, ast.Constant) for k in word.value.keys):
            for key, value in zip(word.value.keys, word.value.values):
                name = str(key.value) if isinstance(key, ast.Constant) else ""
                yield _read_leaf(f"{word.arg}.{name}", value, constants)
        else:
            yield _read_leaf(word.arg, word.value, constants)


def _read_leaf(key: str, node: ast.expr, constants: Mapping[str, ast.expr]) -> Leaf:
    try:
        return Leaf(key, evaluate(node, constants), node.lineno)
    except ValueError as exc:
        return Leaf(key, None, node.lineno, str(exc))


def evaluate(node: ast.expr, constants: Mapping[str, ast.expr], depth: int = 4) -> Any:
    """The value of a literal (a list or tuple as a list), of a constant of the module (at most `depth` names deep), or the last
    name of `torch.bfloat16` as text. Raises ValueError, whose text is the kind of expression."""
    if isinstance(node, ast.Name) and node.id in constants and depth:
        return evaluate(constants[node.id], constants, depth - 1)
    if isinstance(node, ast.Attribute) and _dotted_name(node).startswith("torch."):
        return node.attr
    if isinstance(node, (ast.List, ast.Tuple)):
        return [evaluate(item, constants, depth) for item in node.elts]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        kind = {"Name": "a variable", "Call": "a call", "Attribute": "an attribute"}.get(type(node).__name__, "an expression")
        raise ValueError(kind) from None
