"""No pattern of ours repeats a repeat of the same letters without a bound: twenty letters would take a second, thirty a quarter of an hour."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import rocm_doctor
from rocm_doctor.bounded import patterns
from rocm_doctor.redaction.find import every_rule

LETTERS = frozenset(map(chr, (*range(1, 128), 0xA0, 0xE9, 0x2502, 0x4E2D, 0x1F600)))
"""What sets of letters are compared by: all of ASCII, and a few of other kinds."""
MOST = 1_000
"""Times that a repeat with a bound may try: two of these are a million steps."""
REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT)
LOOKS = (code.AT, code.ASSERT, code.ASSERT_NOT)
CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s", code.CATEGORY_NOT_SPACE: r"\S",
    code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@cache
def _letters_of(op: Any, value: Any) -> frozenset[str]:
    return frozenset(filter(re.compile(CATEGORIES[value]).match, LETTERS)) if op is code.CATEGORY else LETTERS - {chr(value)}


def _letters(op: Any, value: Any) -> frozenset[str]:
    """The letters that a node of one letter may match, in either case."""
    if op is code.LITERAL:
        return frozenset({chr(value).lower(), chr(value).upper(), chr(value)})
    if op in (code.NOT_LITERAL, code.CATEGORY):
        return _letters_of(op, value)
    if op is code.ANY:
        return LETTERS
    if op is code.RANGE:
        return frozenset(c for c in LETTERS if value[0] <= ord(c) <= value[1])
    members = [_letters(*item) for item in value if item[0] is not code.NEGATE]
    union = frozenset().union(*members)
    return LETTERS - union if value[0][0] is code.NEGATE else union


def _first(nodes: Any) -> tuple[frozenset[str], bool]:
    """The letters that a sequence may begin with, and whether it may be empty."""
    found: frozenset[str] = frozenset()
    for op, value in nodes:
        if op in LOOKS:
            continue
        if op in REPEATS:
            first, empty = _first(value[2])
            empty = empty or value[0] == 0
        elif op is code.SUBPATTERN:
            first, empty = _first(value[-1])
        elif op is code.BRANCH:
            each = [_first(branch) for branch in value[1]]
            first, empty = frozenset().union(*(f for f, _ in each)), any(e for _, e in each)
        elif op in (code.GROUPREF, code.GROUPREF_EXISTS):
            first, empty = LETTERS, True
        elif op is code.ATOMIC_GROUP:
            first, empty = _first(value)
        else:
            first, empty = _letters(op, value), False
        found |= first
        if not empty:
            return found, False
    return found, True


def _is_endless(op: Any, value: Any) -> bool:
    return op in REPEATS and value[1] > MOST


def _inside(op: Any, value: Any) -> list[Any]:
    """The sequences within a node."""
    if op in (*REPEATS, code.ASSERT, code.ASSERT_NOT, code.SUBPATTERN):
        return [value[-1]]
    return list(value[1]) if op is code.BRANCH else [value] if op is code.ATOMIC_GROUP else []


def _ends(nodes: list[Any]) -> Iterator[frozenset[str]]:
    """The letters of endless repeats with which a sequence may end."""
    for at in range(len(nodes) - 1, -1, -1):
        op, value = nodes[at]
        if _is_endless(op, value):
            yield _first(value[2])[0]
        for inner in _inside(op, value) if op not in (code.ASSERT, code.ASSERT_NOT) else ():
            yield from _ends(list(inner))
        if not _first([nodes[at]])[1] or op in (code.ASSERT, code.ASSERT_NOT):
            return


def _may_fail(nodes: list[Any]) -> bool:
    """Whether a sequence wants anything: behind what takes all and wants nothing, no second way is tried."""
    return any(op in LOOKS for op, _ in nodes) or not _first(nodes)[1]


def faults(nodes: Any, wanted: bool = False) -> Iterator[str]:
    """The letters of each endless repeat at the end of another that may begin again with the same, where what follows may fail: each
    letter more doubles the time. `wanted`: something follows the sequence."""
    nodes = list(nodes)
    for at, (op, value) in enumerate(nodes):
        fails = wanted or _may_fail(nodes[at + 1 :])
        if _is_endless(op, value):
            body = list(value[2])
            again = _first(body)[0]
            if fails:
                yield from ("".join(sorted(both)) for letters in _ends(body) if (both := letters & again))
        for inner in _inside(op, value):
            yield from faults(inner, fails)


def _begins(nodes: list[Any]) -> Iterator[frozenset[str]]:
    """The letters of endless repeats with which a sequence may begin."""
    for op, value in nodes:
        if op in LOOKS:
            continue
        if _is_endless(op, value):
            yield _first(value[2])[0]
        for inner in _inside(op, value):
            yield from _begins(list(inner))
        if not _first([(op, value)])[1]:
            return


def neighbours(nodes: Any, wanted: bool = False) -> Iterator[str]:
    """The letters that two endless repeats beside each other both match, where what follows may fail: twice the letters take four times
    as long. `wanted`: something follows the sequence."""
    nodes = list(nodes)
    for at, (op, value) in enumerate(nodes):
        fails = wanted or _may_fail(nodes[at + 1 :])
        for inner in _inside(op, value):
            yield from neighbours(inner, fails)
        for letters in _ends([nodes[at]]) if at + 1 < len(nodes) else ():
            for after, others in _following(nodes, at + 1):
                if (both := letters & others) and (wanted or _may_fail(nodes[after + 1 :])):
                    yield "".join(sorted(both))


def _following(nodes: list[Any], begin: int) -> Iterator[tuple[int, frozenset[str]]]:
    """Place and letters of each endless repeat that may come next from `begin` on."""
    for at in range(begin, len(nodes)):
        if nodes[at][0] not in LOOKS:
            yield from ((at, letters) for letters in _begins([nodes[at]]))
            if not _first([nodes[at]])[1]:
                return


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """Every pattern that a module of ours makes, and of the rules of redaction: its source, and what it was parsed to."""
    for module in pkgutil.walk_packages(rocm_doctor.__path__, "rocm_doctor."):
        if not module.name.endswith("__main__") and ".workers." not in module.name:  # workers import nothing of ours
            importlib.import_module(module.name)
    gc.unfreeze()  # conftest.py freezes what the collection of tests imported, and frozen objects are not listed
    lazy = {(one.pattern, one._flags) for one in gc.get_objects() if type(one) is patterns._Lazy}
    both = lazy | {(rule.pattern.source, rule.pattern.flags) for rule in every_rule()}
    return {source: parser.parse(source, flags) for source, flags in both}


@pytest.mark.parametrize("slow", [r"(?:a+)+b", r"(?:\w+ ?)*:", r"(?:a|b+)*c", r"(?:gfx[0-9a-f]+[:\w-]*[;,]?)+$"])
def test_a_slow_pattern_is_found(slow: str) -> None:
    assert list(faults(parser.parse(slow)))


@pytest.mark.parametrize("fast", [r"(?:[a-z]+\.)+x", r"\w+ \w+", r"[^:]*:\s*", r"(?:a{1,40})+b", r"(?:,\w+)*x"])
def test_a_linear_pattern_is_not(fast: str) -> None:
    assert not list(faults(parser.parse(fast)))


def test_no_pattern_of_ours_is_slow(ours: dict[str, Any]) -> None:
    assert len(ours) > 500
    assert [source for source, nodes in ours.items() if list(faults(nodes))] == []


@pytest.mark.parametrize(
    "slow", [r"\w+[a-z]*:", r"\s*\n?\s*x", r"(?:a+|b)c*a*d", r"x[^\n]*(?:\s*)$", r"(\w+)(?=x)?\d*;", r"\w+\s*\w+:"]
)
def test_neighbours_that_take_the_same_letters_are_found(slow: str) -> None:
    assert list(neighbours(parser.parse(slow)))


@pytest.mark.parametrize("fast", [r"\w+\s+\w+:", r"\w+[a-z]*", r"a{1,40}a*b", r"\s*\S+\s*x", r"(?:a+|b+)c"])
def test_neighbours_of_other_letters_are_not(fast: str) -> None:
    assert not list(neighbours(parser.parse(fast)))


def test_no_pattern_of_ours_has_such_neighbours(ours: dict[str, Any]) -> None:
    assert [source for source, nodes in ours.items() if list(neighbours(nodes))] == []
