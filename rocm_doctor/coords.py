"""Name, kind and meaning of every fact (coords.txt): rows, probes and reports use these names and no others (tests/recorded.py).

A fact of the machine has the same name in `Snapshot.facts` (`torch.version`). A fact of a GPU has the prefix `gpu.` in conditions
(`gpu.gfx`) and none in `Gpu.facts`. A family ends in `.` and takes any name (`env.HIP_VISIBLE_DEVICES`).

How a value compares (`Kind`): `version` (PEP 440 ranges, see versions.py), `release` (the same behind the line of releases:
`upstream:>=2.7,<2.12|amd:<2.10`; a range without a line holds for both), `word` (globs, any case), `number` (bounds,
with optional KiB/MiB/GiB), `flag` (yes or no), `list` (true when any element fits), `log` (words in one line of a log).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, cast

Kind = Literal["version", "release", "word", "number", "flag", "list", "log"]


class Coord(NamedTuple):
    """How a fact compares, and its meaning."""

    kind: Kind
    meaning: str


def _read() -> dict[str, Coord]:
    """The facts by name, in the order of coords.txt."""
    lines = Path(__file__).with_name("coords.txt").read_text(encoding="utf-8").splitlines()
    entries = (line.split(None, 2) for line in lines if line and not line.startswith("#"))
    return {name: Coord(cast("Kind", kind), meaning) for name, kind, meaning in entries}


COORDS = _read()

_FAMILIES = tuple(name for name in COORDS if name.endswith("."))


@cache
def coord(name: str) -> Coord | None:
    """The coordinate of that name, or of the family it belongs to; None for a name that this file does not define."""
    if name in COORDS:
        return None if name.endswith(".") else COORDS[name]
    return next((COORDS[f] for f in _FAMILIES if name.startswith(f) and len(name) > len(f)), None)
