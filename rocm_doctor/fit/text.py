"""The answer of `rocm-doctor fit` as text. Figures are GiB; a bar is a part of the peak."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from rocm_doctor.fit.advice import Change, Limits
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.answer import Answer
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, Verdict
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.quantised import needs
from rocm_doctor.fit.runner import Measured

BAR = 32


def gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"


def page(answer: Answer, measured: Measured | None, width: int = 100) -> str:
    """The whole answer in at most `width` columns; what was decided on the way stands below the peak."""
    job = answer.run.job
    parts = [
        heading(answer.run.source, job, answer.card),
        [*breakdown(answer.estimate, width), *(f"  {note}" for note in answer.notes)],
        room(answer.card),
        [*kernels(answer), verdict(answer)],
        outlook(answer.limits, answer.changes, job),
        comparison(answer.estimate, measured) if measured else [],
    ]
    return "\n\n".join("\n".join(row for line in part for row in wrapped(line, width)) for part in parts if part)


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line in rows of at most `width` columns; the rows after the first hang below its words, behind a label or a figure."""
    if len(line) <= width:
        yield line
        return
    found = re.match(r" *(?:[^ ]+ ?[^ ]* {2,})?", line)
    hang = " " * (found.end() if found else 0)
    yield from textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


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


def breakdown(estimate: Estimate, width: int = 100) -> list[str]:
    """One line per part of the peak, largest first, with a bar; parts under a thousandth are left out."""
    whole = estimate.peak_allocated_bytes
    parts = sorted(estimate.breakdown.items(), key=lambda part: -part[1])
    bar = max(1, min(BAR, width - 36))
    lines = [
        f"  {name:<20}{gib(size):>12}  {'█' * max(1, round(bar * size / whole))}" for name, size in parts if size > whole / 1000
    ]
    bound = estimate.error_bound
    return [
        f"Peak by {estimate.how}", *lines,
        _figure("allocated", whole, bound.allocated),
        _figure("reserved", estimate.peak_reserved_bytes, bound.reserved),
        f"  The error (±): {bound.basis}.",
    ]  # fmt: skip


def _figure(name: str, size: int, bound: float) -> str:
    return f"  {name:<20}{gib(size):>12}  ± {bound:.0%}: at most {gib(int(size * (1 + bound)))}"


def room(card: Card) -> list[str]:
    notes = [f"  {note}" for note in card.notes]
    if card.total is None or card.available is None:
        return ["The card's memory is not known; give it with --vram.", *notes]
    less = f"less {gib(card.used)} used by others and {gib(card.context)} for the runtime"
    return [f"Card  {gib(card.total)}, {less}: {gib(card.available)} available", *notes]


def kernels(answer: Answer) -> list[str]:
    """What the run needs of bitsandbytes and the card does not get from its wheels."""
    what, wheels = needs(answer.run.job), answer.run.bitsandbytes
    if not what or wheels.state == "held":
        return []
    if wheels.state == "partly":
        return [f"{what} need bitsandbytes: {wheels.words}."]
    return [
        f"No kernel for {what} on {answer.card.gfx} in the released wheels: {wheels.words}. "
        "It takes a bitsandbytes built from source for this GPU."
    ]


def verdict(answer: Answer) -> str:
    """The verdict with what is left or missing; about the memory alone where something else stands against the run."""
    words, left = WORDS[answer.verdict], answer.margin_bytes
    if needs(answer.run.job) and answer.run.bitsandbytes.state == "missing":
        words = f"By memory alone: {words[0].lower()}{words[1:]}"
    if left is None:
        return words
    return f"{words} ({gib(abs(left))} {'left' if left >= 0 else 'missing'} at the predicted peak)"


WORDS: dict[Verdict, str] = {
    "fits": "It fits, even when the prediction is too low by its whole error",
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
