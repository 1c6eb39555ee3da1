"""What else would fit, and which single change saves most: the closed form tried on neighbouring settings.

The closed form is scaled to agree with the simulation at the asked setting, so that only its differences are relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rocm_doctor.fit.card import Card, Strategy
from rocm_doctor.fit.estimate import Estimate, compute
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.quantised import Wheels, needs

STEP = 64
"""Sequence lengths are tried in multiples of this many tokens."""


class Change(msgspec.Struct, frozen=True):
    """A single change of settings, what the peak would then be, and the option that makes it."""

    words: str
    option: str
    peak_allocated_bytes: int
    saved_bytes: int


class Limits(msgspec.Struct, frozen=True):
    """The largest micro-batch at this sequence length, and the longest sequence at this micro-batch, that still fit; 0: none
    does."""

    batch: int
    seq: int


def scale_estimate(job: Job, card: Card, estimate: Estimate, strategy: Strategy) -> Callable[[Job], int]:
    """Peak allocated bytes of a neighbouring job."""
    scale = estimate.peak_allocated_bytes / compute(job, card, strategy).peak_allocated_bytes
    return lambda other: int(compute(other, card, strategy).peak_allocated_bytes * scale)


def limits(job: Job, card: Card, peak: Callable[[Job], int], bound: float) -> Limits | None:
    """None when the GPU's memory is not known."""
    if card.available is None:
        return None
    room = card.available / (1 + bound)
    longest = job.config.get("max_position_embeddings")
    batch = _largest(lambda n: peak(_change(job, batch=n)) <= room, 4096)
    seq = _largest(lambda n: peak(_change(job, seq=n * STEP)) <= room, (longest if isinstance(longest, int) else 1 << 20) // STEP)
    return Limits(batch, seq * STEP)


def _largest(fits: Callable[[int], bool], top: int) -> int:
    """The largest n up to `top` that fits; memory grows with n."""
    low, high = 0, top
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _change(job: Job, **changes: object) -> Job:
    return msgspec.structs.replace(job, **changes)


def changes(job: Job, estimate: Estimate, peak: Callable[[Job], int], wheels: Wheels) -> list[Change]:
    """Single changes that save memory, the largest saving first; none that asks for kernels that bitsandbytes lacks here."""
    now = estimate.peak_allocated_bytes
    tried = [
        Change(_add_condition(words, other, wheels), option, peak(other), now - peak(other))
        for words, option, other in neighbours(job)
        if possible(job, other, wheels)
    ]
    return sorted((c for c in tried if c.saved_bytes > 0.01 * now), key=lambda c: -c.saved_bytes)


def possible(job: Job, other: Job, wheels: Wheels) -> bool:
    """True if a neighbour asks for no kernels that bitsandbytes lacks on this GPU, beyond those that the job itself asks for."""
    return wheels.state != "missing" or not needs(other) or bool(needs(job))


def _add_condition(words: str, other: Job, wheels: Wheels) -> str:
    return f"{words}, but {wheels.words}" if wheels.state == "partly" and needs(other) else words


def neighbours(job: Job) -> Iterator[tuple[str, str, Job]]:
    """Every single change that may save memory: in words, its option, and the changed job."""
    if not job.checkpointing:
        yield "checkpoint activations (about a third slower)", "--checkpointing", _change(job, checkpointing=True)
    if not job.fused_loss and not job.config.get("final_logit_softcapping"):
        yield (
            "fuse output head and loss (Liger-Kernel's fused linear cross entropy)",
            "--fused-loss",
            _change(job, fused_loss=True),
        )
    if job.batch > 1:
        half = _halve_batch(job)
        yield (
            f"micro-batch {half.batch}, accumulation {half.grad_accum}",
            f"--batch {half.batch} --grad-accum {half.grad_accum}",
            half,
        )
    if job.seq > 2 * STEP:
        yield f"sequences of {job.seq // 2} tokens", f"--seq {job.seq // 2}", _change(job, seq=job.seq // 2)
    if job.dtype == "float32":
        yield (
            "weights in bfloat16 (float16 where the GPU lacks it)",
            "--dtype bfloat16",
            _change(job, dtype="bfloat16", autocast=None),
        )
    if job.method == "full":
        yield "LoRA instead of training every weight", "--method lora", _change(job, method="lora")
    if job.method == "full" and job.optimizer == "adamw":
        yield "fused AdamW, which needs no scratch", "--optimizer adamw_fused", _change(job, optimizer="adamw_fused")
        yield "AdamW with 8-bit states", "--optimizer adamw_8bit", _change(job, optimizer="adamw_8bit")
    if job.method == "lora" and not job.quant_bits:
        yield "a 4-bit base (QLoRA)", "--method qlora", _change(job, method="qlora", quant_bits=4)


def _halve_batch(job: Job) -> Job:
    return _change(job, batch=job.batch // 2, grad_accum=job.grad_accum * 2)
