"""The answer of `rocm-doctor fit` as text. Figures are GiB; a bar is a part of the peak."""

from __future__ import annotations

from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.answer import FitAnswer
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, Verdict
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.quantised import needed_kernels
from rocm_doctor.reports.lines import wrap

BAR = 32


def format_gib(size: int) -> str:
    """Bytes in GiB, as text."""
    return f"{size / GIB:.2f} GiB"


def page(answer: FitAnswer, width: int = 100) -> str:
    """The whole answer in at most `width` columns; the verdict first."""
    job = answer.run.job
    parts = [
        [*kernels(answer), verdict(answer), *blocker(answer.card)],
        heading(answer.run.source, job, answer.card),
        configuration(answer),
        list_unsupported(answer),
        [*breakdown(answer.estimate, width), *(f"  {note}" for note in answer.notes)],
        memory(answer.card),
        ways(answer),
        outlook(answer),
    ]
    return "\n\n".join("\n".join(row for line in part for row in wrap(line, width)) for part in parts if part)


def heading(source: str, job: Job, card: Card) -> list[str]:
    """The run and its GPU, in a few lines."""
    cast = f", autocast {job.autocast}" if job.autocast else ""
    how = f"{job.method} rank {job.rank}" if job.method != "full" else "full"
    saved = "checkpointed" if job.checkpointing else "not checkpointed"
    return [
        f"{source}: {how}, {job.dtype}{cast}, {job.batch} x {job.seq} tokens, accumulation {job.grad_accum},",
        f"{saved}, {job.optimizer}",
        f"on {card.gfx or 'an unnamed GPU'} {card.name}".rstrip(),
    ]


def configuration(answer: FitAnswer) -> list[str]:
    """What of the configuration was not read, and what it asks for that is not modelled."""
    run = answer.run.config
    if run is None:
        return []
    lines = [
        *(entry.words for entry in run.unread),
        *(f"not modelled: {entry.words}{_place(entry.line, entry.key)}" for entry in run.unmodelled),
    ]
    return [f"{run.file} ({run.framework})", *(f"  {line}" for line in lines)] if lines else []


def _place(line: int, key: str) -> str:
    return f" (line {line}, {key})" if line else f" ({key})"


def list_unsupported(answer: FitAnswer) -> list[str]:
    """What the GPU cannot do of what the run asks for."""
    return ["On this GPU", *(f"  {line}" for line in answer.unsupported)] if answer.unsupported else []


def breakdown(estimate: Estimate, width: int = 100) -> list[str]:
    """One line per part of the peak, largest first, with a bar; parts under a thousandth are left out."""
    whole = estimate.peak_allocated_bytes
    parts = sorted(estimate.breakdown.items(), key=lambda part: -part[1])
    bar = max(1, min(BAR, width - 36))
    lines = [
        f"  {name:<20}{format_gib(size):>12}  {'█' * max(1, round(bar * size / whole))}"
        for name, size in parts
        if size > whole / 1000
    ]
    bound = estimate.error_bound
    return [
        f"Peak by {estimate.how}", *lines,
        _figure("allocated", whole, bound.allocated),
        _figure("reserved", estimate.peak_reserved_bytes, bound.reserved),
        f"  The error (±): {bound.basis}.",
    ]  # fmt: skip


def _figure(name: str, size: int, bound: float) -> str:
    return f"  {name:<20}{format_gib(size):>12}  ± {bound:.0%}: at most {format_gib(int(size * (1 + bound)))}"


def memory(card: Card) -> list[str]:
    """The GPU's memory and the notes on it."""
    notes = [f"  {note}" for note in card.notes]
    if card.total is None or card.available is None:
        return ["The GPU's memory is not known: give it with --vram.", *notes]
    less = f"less {format_gib(card.used)} used by other processes and {format_gib(card.context)} for the runtime"
    return [f"GPU   {format_gib(card.total)}, {less}: {format_gib(card.available)} available", *notes]


def kernels(answer: FitAnswer) -> list[str]:
    """What the run needs of bitsandbytes and the GPU does not get from its wheels."""
    what, support = needed_kernels(answer.run.job), answer.run.bitsandbytes
    if not what or not support.words:
        return []
    if not support.missing:
        return [f"{what} need bitsandbytes: {support.words}."]
    return [f"No kernel for {what}: {support.words}. It takes a bitsandbytes built from source for this GPU."]


def blocker(card: Card) -> list[str]:
    """What keeps a run of any size from starting."""
    return [f"Mend this first: {card.blocker} (rocm-doctor check shows the fix)"] if card.blocker else []


def verdict(answer: FitAnswer) -> str:
    """The verdict with the need and the room; about the memory alone where something else prevents the run."""
    words, left, room = WORDS[answer.verdict], answer.margin_bytes, answer.card.available
    if answer.reserves_too_much and room is not None:
        reserved = answer.estimate.peak_reserved_bytes
        words = f"Not safely: the allocator would reserve {format_gib(reserved)} of {format_gib(room)}, and cached blocks would have to go back"
    if needed_kernels(answer.run.job) and answer.run.bitsandbytes.missing:
        words = f"By memory alone: {words[0].lower()}{words[1:]}"
    if left is None:
        peak = answer.estimate.peak_allocated_bytes
        return f"{words}. It takes about {peak / GIB:.1f} GiB, at worst {peak * (1 + answer.estimate.error_bound.allocated) / GIB:.1f}"
    return f"{words}: {need_words(answer.estimate, answer.card)}{'. ' + COST if answer.verdict == 'tight' else ''}"


def need_words(estimate: Estimate, card: Card) -> str:
    """`about 16.6 GiB, at worst 18.3, of 23.3 GiB available`; at best where that is not enough."""
    peak, error, room = estimate.peak_allocated_bytes, estimate.error_bound.allocated, card.available or 0
    limit = f"at worst {peak * (1 + error) / GIB:.1f}" if peak < room else f"at best {peak * (1 - error) / GIB:.1f}"
    return f"about {peak / GIB:.1f} GiB, {limit}, of {room / GIB:.1f} GiB available"


COST = "The allocator will have to give cached blocks back, which costs time"
WORDS: dict[Verdict, str] = {
    "fits": "It fits",
    "tight": "It fits, but tightly",
    "too close to call": "Too close to call",
    "does not fit": "It does not fit",
    "unknown": "Unknown: give the GPU's memory with --vram",
}


def ways(answer: FitAnswer) -> list[str]:
    """What would be enough, unless the run is sure to fit: each way with its peak and its options. One line if the run surely
    does not fit and no way was found, or if none was tried; else empty."""
    if answer.enough is None:
        return ["Other settings were not tried: the closed form does not cover this model"]
    if answer.enough:
        lines = (f"  {format_gib(way.peak_allocated_bytes):>12}  {way.words}  [{way.options}]" for way in answer.enough)
        return ["Each of these is enough", *lines]
    none = "No set of changes and no GPU of the catalog was found to be enough"
    return [none] if answer.verdict == "does not fit" else []


def outlook(answer: FitAnswer) -> list[str]:
    """The largest micro-batch and the longest sequence (tokens) that still fit; nothing where the run itself is not sure to
    fit."""
    limits, job = answer.limits, answer.run.job
    if limits is None:
        return []
    return [
        f"Largest micro-batch at {job.seq} tokens: {limits.batch or 'none'}",
        f"Longest sequence at micro-batch {job.batch}: {limits.seq or 'none'}",
    ]
