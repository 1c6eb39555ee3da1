"""Faults that scripts/mutation.py puts into the code: a comparison turned, a condition dropped, a number one higher, a name misspelt."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv,
}  # fmt: skip


class Fault(NamedTuple):
    """One fault: the file, the line, what was there and what is put there, and the number of the place in the file."""

    file: str
    line: int
    before: str
    after: str
    place: int


def faults_of(path: Path) -> list[Fault]:
    """Every fault that can be put into a file, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(ROOT).as_posix()
    return [Fault(name, line, before, after, n) for n, (_, line, before, after) in enumerate(_changes(tree))]


def with_fault(source: str, place: int) -> str:
    """The source with the fault of that number in it."""
    tree = ast.parse(source)
    for number, (change, *_) in enumerate(_changes(tree)):
        if number == place:
            change()
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.Module) -> Iterator[tuple[Any, int, str, str]]:
    """A function that makes the change, its line, the text before and after, for each place of the tree."""
    for node in _runs(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield _put(node, "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]])
        elif isinstance(node, ast.BoolOp):
            yield _put(node, "op", SWAPS[type(node.op)]())
            for n in range(len(node.values)):
                yield _put(node, "values", [v for m, v in enumerate(node.values) if m != n])
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS and not isinstance(node.left, ast.Constant):
            yield _put(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield _put(node, "op", ast.UAdd(), f"bool({ast.unparse(node.operand)})")
        elif isinstance(node, ast.IfExp):
            yield _put(node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield _put(node, "value", ast.Constant(None))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield _put(node, "value", not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield _put(node, "value", node.value + 1)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and not set(node.value) & set(" \n"):
            yield _put(node, "value", node.value + "X")


def _runs(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: no annotation, no docstring, no import, no text of a message."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            skipped = isinstance(
                child, (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.TypeAlias if hasattr(ast, "TypeAlias") else ast.Import)
            )
            words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not skipped and not words:
                yield child
                yield from _runs(child)


def _put(node: ast.AST, field: str, value: Any, words: str = "") -> tuple[Any, int, str, str]:
    changed = copy.copy(node)
    setattr(changed, field, value)
    return lambda: setattr(node, field, value), node.lineno, ast.unparse(node), words or ast.unparse(changed)  # type: ignore[attr-defined]


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def possible(package: str) -> list[Fault]:
    """Every fault of a package or module of rocm_doctor."""
    where = ROOT / "rocm_doctor" / package
    files = sorted(where.rglob("*.py")) if where.is_dir() else [where.with_suffix(".py")]
    return [fault for path in files for fault in faults_of(path)]


def sample(package: str, size: int, seed: str) -> list[Fault]:
    """The faults of a package that are drawn with this seed; lines of data at module level count like any other."""
    every = possible(package)
    return sorted(random.Random(f"{seed}:{package}").sample(every, min(size, len(every))))


def statements(path: Path) -> list[range]:
    """The lines of each simple statement inside a function, and of the head of each compound one, of an `except` and of a `case`: coverage
    notes a statement of several lines at some of them.
    """
    functions = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef)]
    inside = [n for function in functions for one in function.body for n in ast.walk(one)]
    return [range(n.lineno, _end(n)) for n in inside if isinstance(n, (ast.stmt, ast.ExceptHandler))] + [
        range(n.pattern.lineno, _end(n)) for n in inside if isinstance(n, ast.match_case)
    ]


def _end(node: Any) -> int:
    """The line after a statement, or after the head of one that has a body."""
    if isinstance(node, ast.Match):
        return int(node.subject.end_lineno or node.lineno) + 1
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    return max(first + 1, node.body[0].lineno) if hasattr(node, "body") else int(node.end_lineno) + 1
