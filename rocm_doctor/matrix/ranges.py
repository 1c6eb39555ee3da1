"""Ranges of releases as a row writes them under `affected`: the condition they make, and their words in a report.

`introduced` is the first release with it and `last_affected` the last (both belong to the range); `fixed` is the first release
without it. `7.2.x` is a whole series. Ranges of one fact are alternatives. Ranges with a `line` ask for torch.release, which
carries the line beside the version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.rows import Range, Row

LINED = "torch.release"
_NAMES = {
    "torch.version": "torch", "torch.release": "torch", "rocm.loaded": "ROCm", "torch.rocm": "ROCm", "rocm.version": "ROCm",
    "kernel": "kernel", "driver.version": "driver", "driver.windows": "driver", "torch.hip": "HIP",
}  # fmt: skip
_CLOSED = regex(r">=([^,]+),<=([^,]+)")
_LINES = {"": "", "upstream": "PyTorch's ", "amd": "AMD's "}


def all_conditions(row: Row) -> dict[str, str]:
    """The conditions of a row by fact, with those that its ranges make."""
    return {**row.when, **{name: condition(ranges) for name, ranges in row.affected.items()}}


def condition(ranges: Iterable[Range]) -> str:
    """Ranges as one condition of `when`: `>=2.9,<2.10|>=2.11`."""
    return "|".join((f"{one.line}:" if one.line else "") + _bounds(one) for one in ranges)


def _bounds(one: Range) -> str:
    ends = ((">=", one.introduced), ("<", one.fixed), ("<=", one.last_affected))
    return ",".join(operator + version for operator, version in ends if version)


def remedy(affected: Mapping[str, Sequence[Range]]) -> str:
    """`Fixed in ROCm 10.1.` for a report; empty where no range ends with a fix."""
    fixes = [f"{_LINES[one.line]}{_name(fact)} {one.fixed}" for fact, ranges in affected.items() for one in ranges if one.fixed]
    return f"Fixed in {' and in '.join(dict.fromkeys(fixes))}." if fixes else ""


def bounds(when: Mapping[str, str]) -> list[str]:
    """The releases that conditions are about, each as a name and a range: `torch >=2.9,<2.10`."""
    conditions = ((name, one) for name, one in when.items() if name in _NAMES or name.startswith("pkg."))
    return [
        f"{_name(name)} {' or '.join(_CLOSED.sub(_span, part) for part in one.split('|'))}"
        for name, one in conditions
        if any(map(str.isdigit, one)) and one[0] != "!"
    ]


def _span(found: re.Match[str]) -> str:
    first, last = found.groups()
    return last if last in (first, f"{first}.x") else f"{first} to {last}"


def _name(fact: str) -> str:
    return _NAMES.get(fact, fact.removeprefix("pkg."))
