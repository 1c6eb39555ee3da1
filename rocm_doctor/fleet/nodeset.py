"""Node names as Slurm, pdsh and ClusterShell write them: `mi300x-[001-117,120]`.

ClusterShell does the same and more; it serves the tests as a second opinion. These lines are here because every output needs them and
an extra would be missing on the machine where the reports are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex

MOST = 200_000
"""Names that one expression may stand for."""
_NAME = regex(r"[A-Za-z0-9_](?:[\w.-]{0,251}\w)?", re.ASCII)
_NUMBERED = regex(r"(.*?)(\d{1,15})(\D*)", re.DOTALL)
_ITEM = regex(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_RANGE = regex(r"(\d{1,15})(?:-(\d{1,15}))?")


def valid(name: str) -> bool:
    """True if a host may have this name: nothing that a shell or an option parser could misread."""
    return _NAME.fullmatch(name) is not None


def fold(names: Iterable[str]) -> str:
    """The names, sorted and without repetition, numbers folded to ranges: `n[1-3],n7-ib`."""
    names = set(names)
    plain: list[str] = []
    series: dict[tuple[str, str, int], set[int]] = {}
    split = {name: found for name in names if (found := _NUMBERED.fullmatch(name))}
    # 117 belongs to 001, not to 9 and 10, where a number of three digits was padded.
    padded = {(m[1], m[3], len(m[2])) for m in split.values() if len(m[2]) > 1 and m[2][0] == "0"}
    for name in names:
        if found := split.get(name):
            key = (found[1], found[3], len(found[2]))
            series.setdefault(key if key in padded else (found[1], found[3], 0), set()).add(int(found[2]))
        else:
            plain.append(name)
    folded = [(key[0], min(numbers), _series(key, sorted(numbers))) for key, numbers in series.items()]
    return ",".join(text for *_, text in sorted([*folded, *((name, 0, name) for name in plain)]))


def _series(key: tuple[str, str, int], numbers: list[int]) -> str:
    before, after, width = key
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in ranges]
    return f"{before}{words[0]}{after}" if len(numbers) == 1 else f"{before}[{','.join(words)}]{after}"


def expand(text: str) -> list[str]:
    """The names of an expression, in its order. Raises Unreadable for another syntax, an impossible name, or too many names."""
    names: dict[str, None] = {}
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        assert item
        at = item.end() + 1
        if item.end() < len(text) and text[item.end()] != ",":
            raise Unreadable(f"brackets do not match in `{text[:80]}`")
        for name in _names(item[0].strip()):
            if not valid(name):
                raise Unreadable(f"`{name[:80]}` is not a host name")
            names[name] = None
            if len(names) > MOST:
                raise Unreadable(f"more than {MOST} nodes")
    return list(names)


def _names(item: str) -> Iterator[str]:
    parts = re.split(r"\[([^\[\]]*)\]", item)
    choices = [[part] if n % 2 == 0 else _numbers(part) for n, part in enumerate(parts)]
    return ("".join(one) for one in product(*choices)) if item else iter(())


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise Unreadable(f"`[{text[:80]}]` is not a list of numbers")
        first, last = match[1], match[2] or match[1]
        if not 0 <= int(last) - int(first) < MOST:
            raise Unreadable(f"`[{text[:80]}]` is not a list of numbers")
        width = len(first) if first[0] == "0" and len(first) > 1 else 0
        found += [f"{number:0{width}}" for number in range(int(first), int(last) + 1)]
    return found
