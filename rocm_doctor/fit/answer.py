"""The whole answer to one question: prediction, verdict, what else would fit, what one change would save."""

from __future__ import annotations

import msgspec

from rocm_doctor.fit import advice, runner
from rocm_doctor.fit.advice import Change, Limits
from rocm_doctor.fit.card import Card, Strategy
from rocm_doctor.fit.estimate import Estimate, Verdict, by_arithmetic, by_simulation, margin, verdict
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.resolve import Resolved
from rocm_doctor.fit.shape import ShapeError


class Answer(msgspec.Struct, frozen=True):
    """`margin_bytes` is what is left on the card beside what the run allocates (negative: missing; None: the card is not
    known)."""

    run: Resolved
    card: Card
    estimate: Estimate
    verdict: Verdict
    margin_bytes: int | None
    limits: Limits | None
    changes: tuple[Change, ...]
    notes: tuple[str, ...]


def answer(run: Resolved, card: Card, strategy: Strategy, python: str | None, fast: bool) -> Answer:
    """Simulate, or calculate where that is asked for or all that can be done.

    Raises ShapeError when neither can: no torch, and an architecture that the closed form does not cover.
    """
    estimate, note = _estimate(run.job, card, strategy, python, fast)
    limits, changes = _outlook(run, card, strategy, estimate)
    notes = (*run.notes, note) if note else run.notes
    return Answer(run, card, estimate, verdict(estimate, card), margin(estimate, card), limits, changes, notes)


def _estimate(job: Job, card: Card, strategy: Strategy, python: str | None, fast: bool) -> tuple[Estimate, str]:
    if fast:
        return by_arithmetic(job, card, strategy), ""
    try:
        found = runner.simulate(job, python)
    except runner.WorkerError as exc:
        return by_arithmetic(job, card, strategy), f"not simulated: {exc}"
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return by_simulation(job, card, found, strategy), f"simulated with {versions}; attention calls: {_calls(found.attention)}"


def _calls(attention: dict[str, int]) -> str:
    return ", ".join(f"{kernel} {count}" for kernel, count in attention.items()) or "eager"


def _outlook(run: Resolved, card: Card, strategy: Strategy, estimate: Estimate) -> tuple[Limits | None, tuple[Change, ...]]:
    """Nothing for an architecture that the closed form does not cover."""
    try:
        peak = advice.scaled(run.job, card, estimate, strategy)
    except ShapeError:
        return None, ()
    changes = advice.changes(run.job, estimate, peak, run.bitsandbytes)
    return advice.limits(run.job, card, peak, estimate.error_bound.allocated), tuple(changes)
