"""The results of a smoke test in words, from the facts of a snapshot: for the verdict's sentence and for `smoke`."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.model import Snapshot
from rocm_doctor.workers.smoke.table import STAGES

_ORDER = ("passed", "failed", "died", "timeout", "skipped", "not-run")
_WORDS = {"timeout": "timed out", "not-run": "not run"}
_PLACES = {"cpu": "the CPU", "hip": "the GPU", "cuda": "a CUDA GPU"}


def ended(snapshot: Snapshot) -> dict[str, list[tuple[str, str]]]:
    """Stages with their reasons by status (passed, failed, died, timeout, skipped, not-run), in order of blame."""
    found: dict[str, list[tuple[str, str]]] = {}
    for stage in STAGES:
        fact = snapshot.get(f"smoke.{stage.name}")
        if isinstance(fact.value, str):
            status, _, why = fact.value.partition(":")
            found.setdefault(status.removesuffix("-on-cpu"), []).append((stage.name, why))
    return {status: found[status] for status in _ORDER if status in found}


def ran(snapshot: Snapshot) -> str:
    """What ran, as `13 stages passed on the CPU, 2 skipped; torch 2.13.0+cpu; no GPU was tested`; empty if nothing."""
    stages = ended(snapshot)
    if not stages:
        return ""
    passed, kind = len(stages.get("passed", ())), snapshot.get("smoke.kind").value
    first = f"{passed or 'no'} stage{'' if passed == 1 else 's'} passed{_where(snapshot)}"
    others = [f"{len(some)} {_WORDS.get(s, s)}{_interrupted(some)}" for s, some in stages.items() if s != "passed"]
    torch = snapshot.get("smoke.torch").value
    parts = [", ".join([first, *others]), f"torch {torch}" if isinstance(torch, str) else ""]
    parts.append({"cpu": "no GPU was tested", "cuda": "no AMD GPU was tested"}.get(str(kind), ""))
    return "; ".join(filter(None, parts))


def alone(snapshot: Snapshot) -> bool:
    """True if only a smoke test without an AMD GPU was read, which says nothing about the machine."""
    elsewhere = snapshot.get("smoke.kind").value in ("cpu", "cuda")
    return elsewhere and not snapshot.errors and all(name.startswith("smoke.") for name in snapshot.facts)


def lines(snapshot: Snapshot) -> Iterator[str]:
    """A line for each status, with its stages: `passed on the CPU: import, device`, `skipped (no-choice): blaslt`."""
    for status, stages in ended(snapshot).items():
        where = _where(snapshot) if status == "passed" else ""
        by_reason: dict[str, list[str]] = {}
        for name, why in stages:
            by_reason.setdefault("" if why.startswith("needs-") and status == "not-run" else why, []).append(name)
        for why, names in by_reason.items():
            yield f"{_WORDS.get(status, status)}{where}{f' ({why})' if why else ''}: {', '.join(names)}"


def _where(snapshot: Snapshot) -> str:
    card, kind = snapshot.get("smoke.card").value, str(snapshot.get("smoke.kind").value)
    place = card if isinstance(card, str) and kind != "cpu" else _PLACES.get(kind)
    return f" on {place}" if place else ""


def _interrupted(stages: list[tuple[str, str]]) -> str:
    return " (interrupted)" if any(why == "interrupted" for _, why in stages) else ""
