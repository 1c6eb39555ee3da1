"""What else would fit, and what is enough where a run does not fit: the closed form tried on other settings.

The closed form is scaled to agree with the simulation at the asked setting, so that only its differences are relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, compute
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.quantised import QuantSupport, needed_kernels
from rocm_doctor.matrix import Matrix

STEP = 64
"""Sequence lengths are tried in multiples of this many tokens."""
DEPTH = 4
"""Changes of one way, at most."""
Peak = Callable[[Job], int]


class Limits(msgspec.Struct, frozen=True):
    """`batch`: the largest micro-batch that fits at this sequence length; `seq`: the longest sequence in tokens that fits at this
    micro-batch. 0: none."""

    batch: int
    seq: int


class Way(msgspec.Struct, frozen=True):
    """One way that is enough: `words`, the `options` that make it, and the peak that is then allocated. `fields`: the fields of
    `Job` that a change of settings sets; empty for a larger GPU."""

    words: str
    options: str
    peak_allocated_bytes: int
    fields: dict[str, Any] = {}


def scale_estimate(job: Job, card: Card, estimate: Estimate) -> Peak:
    """A function from a job to its peak of allocated bytes: the closed form, scaled to agree with the estimate for this job. It,
    and the call itself, raise ShapeError for a model that the closed form does not cover."""
    scale = estimate.peak_allocated_bytes / compute(job, card).peak_allocated_bytes
    return lambda other: int(compute(other, card).peak_allocated_bytes * scale)


def limits(job: Job, card: Card, peak: Peak, bound: float) -> Limits | None:
    """The largest micro-batch (up to 4096) and the longest sequence (in steps of STEP, up to the model's positions) that fit,
    each with the other as it is. None if the GPU's memory is not known."""
    if card.available is None:
        return None
    room = card.available / (1 + bound)
    longest = job.config.get("max_position_embeddings")
    batch = _find_largest(lambda n: peak(_change(job, batch=n)) <= room, 4096)
    seq = _find_largest(
        lambda n: peak(_change(job, seq=n * STEP)) <= room, (longest if isinstance(longest, int) else 1 << 20) // STEP
    )
    return Limits(batch, seq * STEP)


def _find_largest(fits: Callable[[int], bool], top: int) -> int:
    """The largest n up to `top` that fits; memory grows with n."""
    low, high = 0, top
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def ways(job: Job, card: Card, peak: Peak, bound: float, support: QuantSupport, matrix: Matrix) -> tuple[Way, ...]:
    """Ways that are enough, at most one of each kind, the least change first: settings, a larger GPU. Only for a job
    that is not enough as it is. `bound`: relative error of the estimate (0.05: 5 %). Empty when the memory of the GPU is not
    known."""
    if card.available is None:
        return ()
    room = card.available / (1 + bound)
    return (*_settings(job, peak, room, support), *_larger_gpu(job, card, peak, bound, matrix))


def _settings(job: Job, peak: Peak, room: float, support: QuantSupport) -> Iterator[Way]:
    """Changes that are enough on this GPU: one, or else the one that saves most and then the next, up to DEPTH of them. Of changes that are
    enough, the one with the most tokens per optimizer step, of equals the largest peak."""
    changed, chosen = job, dict[str, str]()
    for _ in range(DEPTH):
        changes = [
            (peak(other), words, option, other)
            for words, option, other in neighbours(changed, support)
            if not support.missing or not needed_kernels(other) or needed_kernels(job)
        ]
        if not changes:
            return
        enough = [change for change in changes if change[0] <= room]
        best = max(enough, key=lambda c: (c[3].tokens * c[3].grad_accum, c[0])) if enough else min(changes, key=lambda c: c[0])
        size, words, option, changed = best
        chosen = {name: text for name, text in chosen.items() if name.split()[0] != option.split()[0]} | {option: words}
        if enough:
            fields = {n: getattr(changed, n) for n in job.__struct_fields__ if getattr(changed, n) != getattr(job, n)}
            yield Way(" and ".join(chosen.values()), " ".join(chosen), size, fields)
            return


def _larger_gpu(job: Job, card: Card, peak: Peak, bound: float, matrix: Matrix) -> Iterator[Way]:
    """The product of the catalog with the least memory that is enough, whatever its target; of several with this memory the
    last."""
    taken = (card.total or 0) - (card.available or 0) - card.used
    wanted = peak(job) * (1 + bound) + taken
    products = [
        (size, product, gfx) for gfx, target in matrix.gfx.items() for product, sizes in target.vram.items() for size in sizes
    ]
    least = min((size for size, _, _ in products if size * GIB >= wanted), default=None)
    if least is not None:
        size, product, gfx = next(entry for entry in reversed(products) if entry[0] == least)
        yield Way(f"a GPU with {size:g} GiB, such as {product}", f"--gpu {gfx} --vram {size:g}GiB", peak(job))


def neighbours(job: Job, support: QuantSupport) -> Iterator[tuple[str, str, Job]]:
    """(words, option, changed job) for each single change that may save memory."""
    only = f", but {support.words}" if support.words else ""
    if not job.checkpointing:
        yield "checkpoint activations (about a third slower)", "--checkpointing", _change(job, checkpointing=True)
    if not job.fused_loss and not job.config.get("final_logit_softcapping"):
        words = "fuse output head and loss (Liger-Kernel's fused linear cross entropy)"
        yield words, "--fused-loss", _change(job, fused_loss=True)
    if job.batch > 1:
        half = _change(job, batch=job.batch // 2, grad_accum=job.grad_accum * 2)
        options = f"--batch {half.batch} --grad-accum {half.grad_accum}"
        yield f"micro-batch {half.batch}, accumulation {half.grad_accum}", options, half
    if job.seq > 2 * STEP:
        yield f"sequences of {job.seq // 2} tokens", f"--seq {job.seq // 2}", _change(job, seq=job.seq // 2)
    if job.dtype == "float32":
        words = "weights in bfloat16 (float16 where the GPU lacks it)"
        yield words, "--dtype bfloat16", _change(job, dtype="bfloat16", autocast=None)
    if job.method == "full":
        yield "LoRA instead of training every weight", "--method lora", _change(job, method="lora")
    if job.method == "full" and job.optimizer == "adamw":
        yield "fused AdamW, which needs no scratch", "--optimizer adamw_fused", _change(job, optimizer="adamw_fused")
        yield f"AdamW with 8-bit states{only}", "--optimizer adamw_8bit", _change(job, optimizer="adamw_8bit")
    if job.method == "lora" and not job.quant_bits:
        yield f"a 4-bit base (QLoRA){only}", "--method qlora", _change(job, method="qlora", quant_bits=4)


def _change(job: Job, **changes: object) -> Job:
    return msgspec.structs.replace(job, **changes)
