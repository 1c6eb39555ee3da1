"""The language of a row's `when`, in three values: True, False, or None where a fact is not known.

`a|b` one of these; `!` in front negates the whole; `absent` and `set`; PEP 440 ranges for versions (`>=2.10,<2.12`); globs for
words; bounds for numbers (`>=16GiB`); `yes` and `no` for flags; for a list, any element that fits. Logs: see logs.py.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.coords import Kind
from rocm_doctor.model import Fact, Gpu, Snapshot, Unknown, Value

_UNITS = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_NUMBER = regex(r"(>=|<=|==|!=|>|<)?\s*(-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?))\s*([kmgt]ib)?$", re.IGNORECASE)


def holds(kind: Kind, condition: str, fact: Fact) -> bool | None:
    """True if the condition holds for the fact; None if the fact is unknown (an ambiguous one may still decide). Raises
    ValueError for a condition that the kind does not allow (`matrix lint` finds these)."""
    return _holds(kind, condition, fact.value)


@lru_cache(1 << 16, typed=True)  # a plan asks the same of a machine for hundreds of stacks
def _holds(kind: Kind, condition: str, value: Value) -> bool | None:
    if condition.startswith("!"):
        inner = _holds(kind, condition[1:], value)
        return None if inner is None else not inner
    if isinstance(value, Unknown):
        answers = {
            _holds(kind, condition, candidate) for candidate in value.candidates
        }  # the targets that an ambiguous name may mean
        return answers.pop() if len(answers) == 1 else None
    if condition == "absent":
        return value is None
    if value is None:
        return False
    return True if condition == "set" else any(_one(kind, part.strip(), value) for part in condition.split("|"))


def excludes(condition: str) -> bool:
    """True for a condition that only rules out: it names what must be absent."""
    return condition == "absent" or condition.startswith("!")


def named_fact(name: str, snapshot: Snapshot, gpu: Gpu | None) -> Fact:
    """The fact that a condition names; of a GPU (`gpu.gfx`) where there is one."""
    return gpu.get(name[4:]) if gpu is not None and name.startswith("gpu.") else snapshot.get(name)


def _one(kind: Kind, part: str, value: Value) -> bool:
    if isinstance(value, tuple):
        return any(_TESTS["word"](part, item) for item in value)
    return _TESTS[kind](part, value)


def _version(part: str, value: Value) -> bool:
    return bool(versions.contains(part, str(value)))


def _release(part: str, value: Value) -> bool:
    """True if a release (`amd:2.9.1`) fits a part of a condition: `amd:<2.10` fits its own line only, `<2.10` either line."""
    line, _, version = str(value).rpartition(":")
    wanted, _, spec = part.rpartition(":")
    return wanted in ("", line) and (not spec or _version(spec, version))


def _word(part: str, value: Value) -> bool:
    return fnmatchcase(str(value).casefold(), part.casefold())


def _flag(part: str, value: Value) -> bool:
    if part not in ("yes", "no"):
        raise ValueError(f"a flag is `yes` or `no`, not `{part}`")
    return bool(value) is (part == "yes")


def _number(part: str, value: Value) -> bool:
    found = _NUMBER.match(part)
    if not found:
        raise ValueError(f"`{part}` is not a bound on a number")
    text = found[2]
    bound = (int(text, 16) if "x" in text.lower() else float(text)) * _UNITS[(found[3] or "").lower()]
    number = float(value) if isinstance(value, (int, float)) else float("nan")
    return _COMPARE[found[1] or "=="](number, bound)


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt
}  # fmt: skip
_TESTS: dict[str, Callable[[str, Value], bool]] = {
    "version": _version,
    "release": _release,
    "word": _word,
    "list": _word,
    "flag": _flag,
    "number": _number,
}
