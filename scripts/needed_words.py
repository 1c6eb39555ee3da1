"""rocm_doctor/bounded/needed.json: for each regular expression of the package, words of which any match holds at least one.

A pattern is compiled only for a text that holds such a word (bounded/patterns.py). Written by scripts/regen.py.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterable
from typing import Any

import rocm_doctor
from rocm_doctor.bounded import patterns

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

MOST = 40
"""Words of one pattern: testing for more costs what the pattern would."""
SHORTEST = 2
_OPEN = ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
Words = frozenset[str]


def table() -> str:
    """The file: words by `FLAGS:PATTERN`, for the patterns that the modules of the package define and that need a word."""
    modules = sorted(m.name for m in pkgutil.walk_packages(rocm_doctor.__path__, "rocm_doctor.") if ".workers." not in m.name)
    defined = {
        value.key
        for name in modules
        if not name.endswith(("__main__", "pytest_plugin"))
        for value in _values(vars(importlib.import_module(name)).values())
        if isinstance(value, patterns.Late)
    }
    needs = {key: sorted(found) for key in sorted(defined) if (found := needed(*key))}
    return json.dumps({patterns.keyed(*key): words for key, words in needs.items()}, indent=0, ensure_ascii=False) + "\n"


def _values(values: Iterable[Any]) -> Iterable[Any]:
    """The values, and those in their tuples, lists and dictionaries."""
    for value in values:
        yield value
        if isinstance(value, (tuple, list)):
            yield from _values(value)
        elif isinstance(value, dict):
            yield from _values(value.values())


def needed(text: str, flags: int = 0) -> Words:
    """Words in lower case of which every match holds one; empty if no few words are needed.

    >>> sorted(needed(r"(?i)(?:my |the )?(?:Ubuntu|Debian) \\d+"))
    ['debian', 'ubuntu']
    >>> needed(r"\\d+|gfx")
    frozenset()
    """
    return _sequence(iter(parser.parse(text, flags))) or frozenset()


def _sequence(nodes: Iterable[Any]) -> Words | None:
    """The best words of the parts that must all match. Letters in a row make one word."""
    found: list[Words | None] = []
    run = ""
    for kind, argument in nodes:
        letter = _letter(str(kind), argument)
        if letter:
            run += letter
        elif str(kind) != "AT":
            found += [_worthy({run}), _part(str(kind), argument)]
            run = ""
    found.append(_worthy({run}))
    return max(filter(None, found), key=_worth, default=None)


def _beyond_ascii(kind: str, argument: Any) -> bool:
    """True for a letter, or a set of letters, that ASCII does not have, nor IGNORECASE takes for one that it has."""
    if kind == "LITERAL":
        return argument != 0x130 and not any(
            form.isascii() for form in (chr(argument), chr(argument).lower(), chr(argument).upper())
        )
    if kind == "RANGE":
        return bool(argument[0] >= 0x3000)
    return kind == "IN" and all(_beyond_ascii(str(inner), one) for inner, one in argument)


def _letter(kind: str, argument: Any) -> str:
    """The one ASCII letter that a part matches, in lower case: `t` for `t`, `T` and `[Tt]`."""
    codes = [argument] if kind == "LITERAL" else [code for _, code in argument] if kind == "IN" and _literals(argument) else []
    letters = {chr(code).lower() for code in codes if code < 128}
    return letters.pop() if len(letters) == 1 and max(codes) < 128 else ""


def _literals(members: Iterable[tuple[Any, Any]]) -> bool:
    return all(str(kind) == "LITERAL" for kind, _ in members)


def _part(kind: str, argument: Any) -> Words | None:
    if _beyond_ascii(kind, argument):
        return frozenset((patterns.BEYOND_ASCII,))
    if kind == "BRANCH":
        ways = [_sequence(way) for way in argument[1]]
        return _worthy(frozenset().union(*(way for way in ways if way))) if all(ways) else None
    if kind in _REPEATS:
        least, _, inner = argument
        return _sequence(inner) if least else None
    if kind in _OPEN and not (kind == "ASSERT" and argument[0] not in (1, -1)):
        return _sequence(argument if kind == "ATOMIC_GROUP" else argument[-1])
    return None


def _worthy(words: Iterable[str]) -> Words | None:
    """The words without those that hold another one; None if there are too many, or one that nearly every text holds."""
    every = set(words)
    fewest = frozenset(word for word in every if not any(other in word for other in every - {word}))
    return fewest if len(fewest) <= MOST and all(map(_is_rare, fewest)) else None


def _is_rare(word: str) -> bool:
    return word == patterns.BEYOND_ASCII or len(word.strip()) >= SHORTEST


def _worth(words: Words) -> tuple[int, int]:
    return min(map(len, words)), -len(words)
