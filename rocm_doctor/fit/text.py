"""The answer of `rocm-doctor fit` as text. Figures are GiB; a bar is a part of the peak."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.fit.advice import Change, Limits
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.answer import Answer
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, Verdict, margin
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.runner import Measured

BAR = 32


def gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"


def page(answer: Answer, measured: Measured | None) -> str:
    """The whole answer; what was decided on the way stands below the peak."""
    job = answer.run.job
    parts = [
        heading(answer.run.source, job, answer.card),
        [*breakdown(answer.estimate), *(f"  {note}" for note in answer.notes)],
        room(answer.estimate, answer.card, answer.verdict),
        outlook(answer.limits, answer.changes, job),
        comparison(answer.estimate, measured) if measured else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def heading(source: str, job: Job, card: Card) -> list[str]:
    cast = f", autocast {job.autocast}" if job.autocast else ""
    how = f"{job.method} rank {job.rank}" if job.method != "full" else "full"
    saved = "checkpointed" if job.checkpointing else "not checkpointed"
    cards = f"{card.count} x " if card.count > 1 else ""
    return [
        f"{source}: {how}, {job.dtype}{cast}, {job.batch} x {job.seq} tokens, accumulation {job.grad_accum},",
        f"{saved}, {job.optimizer}",
        f"on {cards}{card.gfx or 'an unnamed GPU'} {card.name}".rstrip(),
    ]


def breakdown(estimate: Estimate) -> list[str]:
    """One line per part of the peak, largest first, with a bar; parts under a thousandth are left out."""
    whole = estimate.peak_allocated_bytes
    parts = sorted(estimate.breakdown.items(), key=lambda part: -part[1])
    lines = [
        f"  {name:<20}{gib(size):>12}  {'█' * max(1, round(BAR * size / whole))}" for name, size in parts if size > whole / 1000
    ]
    bound = estimate.error_bound
    return [
        f"Peak by {estimate.how}", *lines,
        f"  {'allocated':<20}{gib(whole):>12}  ± {bound.allocated:.0%}",
        f"  {'reserved':<20}{gib(estimate.peak_reserved_bytes):>12}  ± {bound.reserved:.0%}",
        f"  ({bound.basis})",
    ]  # fmt: skip


def room(estimate: Estimate, card: Card, verdict: Verdict) -> list[str]:
    if card.total is None or card.available is None:
        return ["The card's memory is not known; give it with --vram.", *(f"  {note}" for note in card.notes)]
    left = margin(estimate, card) or 0
    short = f"{gib(left)} left" if left >= 0 else f"{gib(-left)} missing"
    less = f"less {gib(card.used)} used by others and {gib(card.context)} for the runtime"
    notes = [f"  {note}" for note in card.notes]
    return [f"Card  {gib(card.total)}, {less}: {gib(card.available)} available", *notes, "", f"{WORDS[verdict]} ({short})"]


WORDS: dict[Verdict, str] = {
    "fits": "It fits",
    "tight": "It fits, but tightly: the allocator will have to give cached blocks back, which costs time",
    "too close to call": "Too close to call: the prediction's error is larger than what is left",
    "does not fit": "It does not fit",
    "unknown": "Whether it fits is not known",
}


def outlook(limits: Limits | None, changes: Sequence[Change], job: Job) -> list[str]:
    lines = []
    if limits:
        lines.append(f"Largest micro-batch at {job.seq} tokens: {limits.batch or 'none'}")
        lines.append(f"Longest sequence at micro-batch {job.batch}: {limits.seq or 'none'}")
    if changes:
        lines += ["", "What one change would save"] if lines else ["What one change would save"]
        lines += [f"  {gib(c.saved_bytes):>12}  {c.words}  [{c.option}]" for c in changes[:4]]
    return lines


def comparison(estimate: Estimate, measured: Measured) -> list[str]:
    """Predicted against measured, and how far off."""
    pairs = [
        ("allocated", estimate.peak_allocated_bytes, measured.peak_allocated),
        ("reserved", estimate.peak_reserved_bytes, measured.peak_reserved),
    ]
    head = f"Measured on {measured.device} ({', '.join(f'{name} {version}' for name, version in measured.versions.items())})"
    table = [f"  {name:<12}{gib(ours):>14}{gib(real):>14}{ours / real - 1:>+9.1%}" for name, ours, real in pairs]
    tail = f"  step {measured.step_s:.3f} s; in use on the card beside torch's allocator: {gib(measured.context_bytes)}"
    return [head, f"  {'peak':<12}{'predicted':>14}{'measured':>14}{'error':>9}", *table, tail]
