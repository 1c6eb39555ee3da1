"""The whole answer to one question: prediction, verdict, what else would fit, what would be enough."""

from __future__ import annotations

import msgspec

from rocm_doctor.fit import advice, runner
from rocm_doctor.fit.advice import Limits, Way
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, Verdict, compute, margin, simulate, verdict
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.resolve import Resolved
from rocm_doctor.fit.shape import ShapeError
from rocm_doctor.matrix import Matrix


class FitAnswer(msgspec.Struct, frozen=True):
    """`notes`: sentences on the run and the estimate; `margin_bytes`: left beside what the run allocates (negative: missing;
    None: the GPU's memory is not known); `limits`: None unless the run fits."""

    run: Resolved
    card: Card
    estimate: Estimate
    verdict: Verdict
    margin_bytes: int | None
    limits: Limits | None
    notes: tuple[str, ...]
    enough: tuple[Way, ...] | None = ()
    """Empty where the run is sure to fit, or where nothing was found; None: nothing was tried, as the closed form does not cover
    the model."""
    unsupported: tuple[str, ...] = ()
    """What the GPU cannot do of what the run asks for, a sentence each."""

    @property
    def reserves_too_much(self) -> bool:
        """True if what is allocated fits, and what the allocator would reserve does not."""
        room = self.card.available
        return self.verdict == "tight" and room is not None and self.estimate.peak_reserved_bytes > room


def answer(run: Resolved, card: Card, python: str | None, fast: bool, matrix: Matrix) -> FitAnswer:
    """The answer from a simulation, or from the closed form if `fast` or if there is no simulation. Raises ShapeError if the
    closed form is needed and does not cover the architecture."""
    estimate, note = _estimate(run.job, card, python, fast)
    word = verdict(estimate, card)
    notes = (*run.notes, note) if note else run.notes
    first = FitAnswer(
        run, card, estimate, word, margin(estimate, card), None, notes, (), unsupported_features(run, card.gfx, matrix)
    )
    try:
        peak = advice.scale_estimate(run.job, card, estimate)
    except ShapeError:
        return msgspec.structs.replace(first, enough=None)
    bound = estimate.error_bound.allocated
    if word == "fits" or (word == "tight" and not first.reserves_too_much):
        return msgspec.structs.replace(first, limits=advice.limits(run.job, card, peak, bound))
    if first.reserves_too_much:
        bound = (1 + bound) * estimate.peak_reserved_bytes / estimate.peak_allocated_bytes - 1
    ways = advice.ways(run.job, card, peak, bound, run.bitsandbytes, matrix)
    return msgspec.structs.replace(first, enough=ways)


def unsupported_features(run: Resolved, gfx: str, matrix: Matrix) -> tuple[str, ...]:
    """Sentences on what the GPU lacks of what the run asks for: bfloat16, and a fused kernel of torch for an attention asked for
    by name. What bitsandbytes lacks is not among them (quantised.py)."""
    target, job = matrix.gfx.get(gfx), run.job
    lacks = []
    if target and target.bf16 == "none" and "bfloat16" in (job.dtype, job.autocast):
        lacks.append(
            f"{gfx} has no bfloat16 arithmetic and converts each operation to float32: use float16 with loss scaling, or float32"
        )
    attention = str(run.config.value("attention", "")) if run.config else ""
    if target and attention.startswith("flash") and not job.kernels.flash:
        lacks.append(
            f"{attention} is asked for, and the prediction has no fused attention for {gfx}: install a build for it, or take sdpa"
        )
    return tuple(lacks)


def _estimate(job: Job, card: Card, python: str | None, fast: bool) -> tuple[Estimate, str]:
    if fast:
        return compute(job, card), ""
    try:
        simulated = runner.simulate(job, python)
    except runner.WorkerError as exc:
        return compute(job, card), f"not simulated: {_explain_failure(exc)}"
    versions = ", ".join(f"{name} {version}" for name, version in simulated.versions.items())
    return simulate(card, simulated), f"simulated with {versions}; attention calls: {_count_calls(simulated.attention)}"


def _explain_failure(problem: Exception) -> str:
    """Why there is no simulation, and what to do."""
    words = str(problem)
    return (
        "torch is not installed here: name an environment that has it with --python"
        if "No module named 'torch'" in words
        else words
    )


def _count_calls(attention: dict[str, int]) -> str:
    return ", ".join(f"{kernel} {count}" for kernel, count in attention.items()) or "eager"
