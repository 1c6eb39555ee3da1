"""All version arithmetic. Texts come from kernels, distributions, wheels and AMD's tools, and few of them are PEP 440.

A text is cut into four parts: `6.8.0-45-generic` is release 6.8.0 and build 45; `7.12.0a20260203` is release 7.12.0 and pre
`a20260203`; `2.4.1+rocm6.0` has the local part `rocm6.0`; `7.0.0.70000-17~24.04` is release 7.0.0 (AMD's packages repeat the
release as 70000).

A bound compares exactly the parts that it names. `>=2.11` looks at the release alone, so that 2.11.0a0+rocm7.11.0a20260106
counts as 2.11 code and a nightly is not older than every release; `<7.11.0a20260119` also looks at the pre-release,
`<2.8.0.post1` at the post-release, `>=6.17.0-19` at the build. A number that a bound leaves out is 0: `2.11` is 2.11.0. A bound
with a local part (`==2.9.1+rocm6.3`) is an error: local parts are not compared.
`<=7.2.x` reaches to the end of the series, `>=7.2.x` begins with 7.2.0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

_TEXT = re.compile(
    r"[vV]?(?P<release>\d+(?:\.\d+)*)"
    r"(?P<pre>(?:[-_.]?(?:alpha|beta|preview|rc|dev|a|b)[-_.]?\d*)+)?"
    r"(?:\.post(?P<post>\d+))?"
    r"(?P<rest>(?:[-~:_ ]|\.(?!\d))[^+]*)?"
    r"(?:\+(?P<local>\S*))?"
    r"\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(~=|===|==|!=|>=|<=|>|<)?\s*(\S.*?)\s*$")
_ROCM_IN_LOCAL = re.compile(r"rocm(\d+(?:\.\d+)+(?:(?:a|b|rc|\.dev)\d+)?)", re.IGNORECASE)
_PRE_PART = re.compile(r"(alpha|beta|preview|rc|dev|a|b)[-_.]?(\d*)", re.IGNORECASE)
_PRE_RANK = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "preview": 3, "rc": 3}
_FINAL = ((9, 0),)


class Version(NamedTuple):
    """The parts of a version.

    pre: (rank, number) of each pre-release mark; empty: a final release. build: the numbers behind the first `-`. post: the number of a
    post-release; 0: none.
    """

    release: tuple[int, ...]
    pre: tuple[tuple[int, int], ...]
    build: tuple[int, ...]
    local: str
    post: int = 0


_TOO_LONG = re.compile(r"\d{19}")
"""No part of a version has so many digits, and int() refuses 4300 of them."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Version | None:
    """The parts of a version; None for what does not begin like one (an empty text, `unknown`, a bare hash)."""
    found = _TEXT.match(text.strip())
    if not found or _TOO_LONG.search(text):
        return None
    numbers = tuple(int(n) for n in found["release"].split("."))
    pre = tuple((_PRE_RANK[kind.lower()], int(n or 0)) for kind, n in _PRE_PART.findall(found["pre"] or ""))
    return Version(
        _strip_package_code(numbers), pre, _build(found["rest"] or ""), (found["local"] or "").lower(), int(found["post"] or 0)
    )


def _strip_package_code(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """AMD's packages carry the release once more as one number: 7.0.0.70000 is 7.0.0, and amdgpu-install 6.3.60304 is 6.3.4."""
    if len(numbers) == 3 and numbers[2] >= 10000 and numbers[2] // 100 == numbers[0] * 100 + numbers[1]:
        return (numbers[0], numbers[1], numbers[2] % 100)
    while len(numbers) > 3 and numbers[-1] >= 10000:
        numbers = numbers[:-1]
    return numbers


def _build(rest: str) -> tuple[int, ...]:
    """The leading numbers behind the release: `-45-generic` gives (45,), `-19.19~24.04.2` (19, 19), `-a9a80e791` nothing."""
    found = re.match(r"[-~.:_ ](\d+(?:\.\d+)*)(?![0-9a-z])", rest, re.IGNORECASE)
    return tuple(int(n) for n in found[1].split(".")) if found else ()


def release(text: str) -> tuple[int, ...] | None:
    """The release part alone, as numbers: (6, 3, 42134) of `6.3.42134-a9a80e791`."""
    version = parse(text)
    return version.release if version else None


def series(text: str, parts: int = 2) -> str | None:
    """The first numbers as text: `7.2` of `7.2.53211-e1a6bc5663`; None when there are fewer."""
    numbers = release(text)
    return ".".join(map(str, numbers[:parts])) if numbers and len(numbers) >= parts else None


@lru_cache(maxsize=16384)
def contains(spec: str, text: str) -> bool | None:
    """True if the version is in the range; None when the text is not a version.

    `spec`: clauses joined by commas (all must hold): `>=2.10,<2.12`, `==2.4.*`, `!=7.14.1`; a bare `2.4` is equality of the
    release part (2.4 and 2.4.0 are equal, 2.4.1 is not), a bare `2.4.*` a prefix. Raises ValueError for a spec that cannot be
    read.
    """
    clauses = parse_spec(spec)
    version = parse(text)
    return None if version is None else all(test(version) for test in clauses)


@lru_cache(maxsize=4096)
def parse_spec(spec: str) -> tuple[Callable[[Version], bool], ...]:
    """The tests of a range, one for each clause. Raises ValueError that names the clause that cannot be read."""
    return tuple(_clause(part) for part in spec.split(","))


def _clause(part: str) -> Callable[[Version], bool]:
    found = _CLAUSE.match(part)
    operator, bound = (found[1] or "==", found[2]) if found else ("==", "")
    series = bound.endswith(".x")
    prefix = bound.endswith(".*") or (series and operator in ("==", "!="))
    version = parse(bound.removesuffix(".*").removesuffix(".x"))
    if version is None or version.local or (prefix and operator not in ("==", "!=")):
        raise ValueError(f"`{part.strip()}` is not a bound on a version")
    if series and operator in ("<=", ">"):
        return _series_test(operator, version)
    if prefix or operator == "~=":
        return _prefix_test(operator, version)
    compare = _COMPARE[operator]
    return lambda other: compare(_order(other, version), 0)


def _prefix_test(operator: str, bound: Version) -> Callable[[Version], bool]:
    if operator == "~=":
        head = bound.release[:-1]
        return lambda other: _pad(other.release, len(head)) == head and _order(other, bound) >= 0
    head = bound.release
    wanted = operator == "=="
    return lambda other: (_pad(other.release, len(head)) == head) is wanted


def _series_test(operator: str, bound: Version) -> Callable[[Version], bool]:
    """`<=7.2.x`: up to and with the last release of 7.2; `>7.2.x`: behind it."""
    length, inside = len(bound.release), operator == "<="
    return lambda other: (_pad(other.release, length) <= bound.release) is inside


def _pad(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (numbers + (0,) * length)[:length]


def _order(version: Version, bound: Version) -> int:
    """-1, 0 or 1, over the parts that the bound names."""
    for one, other in zip_longest(version.release, bound.release, fillvalue=0):
        if one != other:
            return 1 if one > other else -1
    if bound.pre:
        mine, limit = version.pre or _FINAL, bound.pre
        return (mine > limit) - (mine < limit)
    if bound.post:
        return (version.post > bound.post) - (version.post < bound.post)
    if bound.build:
        length = len(bound.build)
        build = _pad(version.build, length)
        return (build > bound.build) - (build < bound.build)
    return 0


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "===": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt
}  # fmt: skip


SortKey = tuple[tuple[int, ...], tuple[tuple[int, int], ...], int, tuple[int, ...]]


def sort_key(text: str) -> SortKey:
    """A key that sorts releases, oldest first; a text that is not a version comes before all. The local part plays no role: PEP
    440 compares `rocm10.0` and `rocm7.0` as text and takes the newer for the older."""
    version = parse(text)
    return (version.release, version.pre or _FINAL, version.post, version.build) if version else ((), (), 0, ())


def rocm_of_local(text: str) -> str | None:
    """The ROCm release in a wheel's local part: `7.2.0` of `2.9.1+rocm7.2.0.lw.git7e1940d4`; None for `+rocmsdk20260116`."""
    found = _ROCM_IN_LOCAL.search(text.partition("+")[2])
    return found[1] if found else None
