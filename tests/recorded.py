"""The contract between probes and everything behind them: a fact has a name of coords.py and a value of that name's kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any

from rocm_doctor.coords import COORDS, coord
from rocm_doctor.facts import merge
from rocm_doctor.model import Fact, Snapshot, Unknown, Value
from rocm_doctor.probes.read.result import ProbeResult

_TYPES: dict[str, tuple[type, ...]] = {
    "version": (str,),
    "release": (str,),
    "word": (str,),
    "number": (int, float),
    "flag": (bool,),
    "list": (tuple,),
    "log": (str, tuple),
}


def misfit(name: str, value: Value) -> str:
    """What is wrong with a fact of that name and value; empty when nothing is.

    The name of a family (`env.`) is a fact too: the family was listed whole.
    """
    if name in COORDS and name.endswith("."):
        return ""
    known = coord(name)
    if known is None:
        return f"{name} is not in coords.py"
    if value is None or isinstance(value, Unknown):
        return ""
    fits = isinstance(value, _TYPES[known.kind]) and (known.kind == "flag") == isinstance(value, bool)
    return "" if fits else f"{name} is a {known.kind} in coords.py and was recorded as {value!r}"


def misfits(snapshot: Snapshot) -> list[str]:
    """Every fact of a snapshot that breaks the contract."""
    own = snapshot.facts.items()
    gpus = [(f"gpu.{name}", fact) for gpu in snapshot.gpus for name, fact in gpu.facts.items()]
    return [wrong for name, fact in (*own, *gpus) if (wrong := misfit(name, fact.value))]


def enforced(monkeypatch: Any) -> None:
    """Make recording and merging fail on a fact that breaks the contract: production does not pay for the check."""
    record, build = ProbeResult.record, merge.build

    @wraps(record)
    def checked(self: ProbeResult, key: str, value: Value, reading: Any, into: dict[str, Fact] | None = None) -> None:
        wrong = misfit(key if into is None else f"gpu.{key}", value)
        assert not wrong, wrong
        record(self, key, value, reading, into)

    @wraps(build)
    def built(results: Iterable[ProbeResult]) -> Snapshot:
        snapshot = build(_kept(results))
        wrong = misfits(snapshot)
        assert not wrong, wrong
        return snapshot

    monkeypatch.setattr(ProbeResult, "record", checked)
    monkeypatch.setattr(merge, "build", built)


def _kept(results: Iterable[ProbeResult]) -> Iterator[ProbeResult]:
    """The results, with a probe that crashed on an assertion of ours raised again instead of reported."""
    for result in results:
        ours = [error.quote for error in result.errors if "crashed: AssertionError" in error.quote]
        assert not ours, ours
        yield result
