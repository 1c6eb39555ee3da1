"""The results of a smoke test in words, from the facts of a snapshot: for the verdict's sentence and for `smoke`."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.model import Snapshot
from rocm_doctor.workers.smoke.table import FRAMEWORKS

_ORDER = ("passed", "failed", "died", "timeout", "skipped", "not-run")
_WORDS = {"timeout": "timed out", "not-run": "not run"}
_PLACES = {"cpu": "the CPU", "hip": "the GPU", "cuda": "a CUDA GPU"}


def stage_prefixes(snapshot: Snapshot) -> list[str]:
    """The prefixes of the stages' facts: one for each framework, or an empty one where torch alone was tested."""
    several = [f for f in FRAMEWORKS if any(name.startswith(f"smoke.{f}.") for name in snapshot.facts)]
    return [f"{framework}." for framework in several] or [""]


def stages_by_status(snapshot: Snapshot, prefix: str = "") -> dict[str, list[tuple[str, str]]]:
    """Stages with their reasons by status (passed, failed, died, timeout, skipped, not-run), in order of blame."""
    by_status: dict[str, list[tuple[str, str]]] = {}
    for stage in FRAMEWORKS[prefix.rstrip(".") or "torch"]:
        fact = snapshot.get(f"smoke.{prefix}{stage.name}")
        if isinstance(fact.value, str):
            status, _, why = fact.value.partition(":")
            by_status.setdefault(status.removesuffix("-on-cpu"), []).append((stage.name, why))
    return {status: by_status[status] for status in _ORDER if status in by_status}


def describe(snapshot: Snapshot) -> str:
    """What ran, as `13 stages passed on the CPU, 2 skipped; torch 2.13.0+cpu; no GPU was tested`; empty if nothing."""
    some = [prefix for prefix in stage_prefixes(snapshot) if stages_by_status(snapshot, prefix)]
    parts = [part for prefix in some for part in (_count_stages(snapshot, prefix), _version(snapshot, prefix)) if part]
    note = {"cpu": "no GPU was tested", "cuda": "no AMD GPU was tested"}.get(str(snapshot.get("smoke.kind").value))
    return "; ".join([*parts, *([note] if note else [])]) if parts else ""


def _count_stages(snapshot: Snapshot, prefix: str) -> str:
    """How many stages of a framework ended in which way."""
    stages = stages_by_status(snapshot, prefix)
    passed = len(stages.get("passed", ()))
    first = f"{passed or 'no'} stage{'' if passed == 1 else 's'} passed{_where(snapshot, prefix)}"
    others = [f"{len(some)} {_WORDS.get(s, s)}{_interruption(some)}" for s, some in stages.items() if s != "passed"]
    return ", ".join([first, *others])


def _version(snapshot: Snapshot, prefix: str) -> str:
    framework = prefix.rstrip(".") or "torch"
    version = snapshot.get(f"smoke.{framework}").value
    return f"{framework} {version}" if isinstance(version, str) else ""


def lacks_machine(snapshot: Snapshot) -> bool:
    """True if only a benchmark, or a smoke test without an AMD GPU, was read: neither says what the machine lacks."""
    elsewhere = snapshot.get("smoke.kind").value in ("cpu", "cuda") or isinstance(snapshot.get("speed.kind").value, str)
    return elsewhere and not snapshot.errors and all(name.startswith(("smoke.", "rate.", "speed.")) for name in snapshot.facts)


def lines(snapshot: Snapshot) -> Iterator[str]:
    """A line for each status, with its stages: `passed on the CPU: import, device`, `jax skipped (no-choice): attention-flash`."""
    for prefix in stage_prefixes(snapshot):
        for status, stages in stages_by_status(snapshot, prefix).items():
            where = _where(snapshot, prefix) if status == "passed" else ""
            by_reason: dict[str, list[str]] = {}
            for name, why in stages:
                by_reason.setdefault("" if why.startswith("needs-") and status == "not-run" else why, []).append(name)
            for why, names in by_reason.items():
                framework = prefix.replace(".", " ")
                yield f"{framework}{_WORDS.get(status, status)}{where}{f' ({why})' if why else ''}: {', '.join(names)}"


def _where(snapshot: Snapshot, prefix: str) -> str:
    """Where the stages passed: ` on the CPU`, ` on Radeon RX 7900 XTX`."""
    on_cpu = any(f.value == "passed-on-cpu" for name, f in snapshot.facts.items() if name.startswith(f"smoke.{prefix}"))
    card, kind = snapshot.get("smoke.card").value, "cpu" if on_cpu else str(snapshot.get("smoke.kind").value)
    place = card if isinstance(card, str) and kind != "cpu" else _PLACES.get(kind)
    return f" on {place}" if place else ""


def _interruption(stages: list[tuple[str, str]]) -> str:
    return " (interrupted)" if any(why == "interrupted" for _, why in stages) else ""
