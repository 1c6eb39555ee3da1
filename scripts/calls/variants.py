"""Variants of calls: one value changed to another that stands in the same place of another call, or to its neighbor."""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any


def failed(result: str) -> bool:
    return re.match(r"\w*(Error|Exception|Exit|AttributeError)\b.*?:", result) is not None


class Variation:
    """Calls with one thing changed: a value by another that stands in the same place of another call, or by its neighbor."""

    def __init__(self, known: Iterable[str]) -> None:
        self.values: dict[str, set[str]] = defaultdict(set)
        for call in known:
            for key, _, _, node in _places(ast.parse(f"f{call}", mode="eval").body):
                self.values[key].add(ast.unparse(node))

    def of(self, call: str, draw: random.Random) -> str:
        """One variant."""
        tree = ast.parse(f"f{call}", mode="eval")
        for _ in range(draw.choice((1, 1, 2, 3))):
            key, put, drop, node = draw.choice([*_places(tree.body)] or [("", None, None, tree.body)])
            if put is None:
                break
            if drop and draw.random() < 0.3:
                drop()
            elif draw.random() < 0.6:
                put(ast.parse(draw.choice(sorted(self.values[key])), mode="eval").body)
            elif isinstance(node, ast.Constant):
                put(ast.Constant(_neighbor(node.value, draw)))
        return ast.unparse(tree).removeprefix("f")


def near(call: str, hints: Sequence[Any], draw: random.Random) -> str:
    """The call with one value changed to one of these words and numbers, or around it."""
    tree, hint = ast.parse(f"f{call}", mode="eval"), draw.choice(hints)
    keys = [node for node in ast.walk(tree.body) if isinstance(node, ast.Dict) and node.keys]
    if isinstance(hint, str) and keys and draw.random() < 0.2:
        node = draw.choice(keys)
        node.keys[draw.randrange(len(node.keys))] = ast.Constant(hint)
    else:
        fitting = [one for one in _places(tree.body) if isinstance(one[3], ast.Constant) and _fits(one[3].value, hint)]
        if fitting:
            _, put, _, old = draw.choice(fitting)
            put(ast.Constant(_toward(old.value, hint, draw)))  # type: ignore[attr-defined]
    return ast.unparse(tree).removeprefix("f")


def _fits(value: Any, hint: Any) -> bool:
    return isinstance(value, str) or (type(value) is int and type(hint) is int)


def _toward(value: Any, hint: Any, draw: random.Random) -> Any:
    if isinstance(value, int):
        return draw.choice((hint, hint - 1, hint + 1))
    if isinstance(hint, int):
        size = max(0, min(hint, 300) + draw.choice((-1, 0, 1)))
        return draw.choice((str(hint), str(hint + 1), (value or "x") * (size // max(1, len(value)) + 1)))[: max(size, 4)]
    words = value.split(" ")
    at = draw.randrange(len(words))
    changed = " ".join([*words[:at], hint, *words[at + draw.choice((0, 1)) :]])
    return draw.choice(
        (hint, changed, value + hint, hint + value, f"{value}\n{hint}", f"{hint}: {value}", value.replace(hint, ""), hint.upper())
    )


def _neighbor(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice((value + 1, value - 1, 0, value * 2))
    if isinstance(value, str):
        half = len(value) // 2
        return draw.choice((value.upper(), value[:half], value[half:], value + " x", value.replace("\n", "\n\n"), value + value))
    return value


def _places(tree: ast.AST) -> Iterator[tuple[str, Callable[[ast.expr], None], Callable[[], None] | None, ast.expr]]:
    """What can be changed in a call: where it stands, how to put another there, how to leave it out, and what is there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for n, (key, value) in enumerate(zip(node.keys, node.values)):
                drop = partial(_without, node, n)
                yield ast.unparse(key) if key else "", partial(_put, node.values, n), drop, value
        elif isinstance(node, ast.Call):
            for n, one in enumerate(node.args):
                yield f"{ast.unparse(node.func)} {n}", partial(_put, node.args, n), None, one
            for word in node.keywords:
                yield str(word.arg), partial(setattr, word, "value"), None, word.value
        elif isinstance(node, (ast.List, ast.Tuple)):
            for n, one in enumerate(node.elts):
                yield "in a list", partial(_put, node.elts, n), partial(node.elts.remove, one), one


def _put(values: list[ast.expr], place: int, value: ast.expr) -> None:
    values[place] = value


def _without(node: ast.Dict, place: int) -> None:
    del node.keys[place], node.values[place]
