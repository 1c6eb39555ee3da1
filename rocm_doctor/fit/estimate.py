"""One answer from one job and one GPU: predicted peaks, how sure, and whether it fits; and what each of several GPUs holds, from the
documented behaviour of each scheme (none of it was measured by us)."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_doctor.fit import closed_form
from rocm_doctor.fit.allocator import Peak
from rocm_doctor.fit.card import Card, Strategy
from rocm_doctor.fit.job import BYTES, Job
from rocm_doctor.fit.runner import Simulated, find_peak
from rocm_doctor.fit.shape import Shape, read_shape

How = Literal["simulation", "closed form"]
Verdict = Literal["fits", "tight", "too close to call", "does not fit", "unknown"]


class Bound(msgspec.Struct, frozen=True):
    """How far the prediction may be off, as a fraction of itself, and on what that rests."""

    allocated: float
    reserved: float
    basis: str


BASIS = "twice the worst error on 50 steps measured on an NVIDIA H200, 3 % at least (docs/fit.md); no AMD GPU was measured"
BOUNDS: dict[How, Bound] = {"simulation": Bound(0.03, 0.10, BASIS), "closed form": Bound(0.06, 0.40, BASIS)}
"""Twice: other versions of torch and transformers, and settings between the measured ones. The tests hold them to the measured
rows."""


SEVERAL = Bound(0.25, 0.40, "derived from how the scheme works; runs on several GPUs were not measured")


class Estimate(msgspec.Struct, frozen=True):
    """Bytes. `peak_reserved_bytes` is what nvidia-smi or rocm-smi would show, less the runtime's context."""

    how: How
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    breakdown: dict[str, int]
    error_bound: Bound


def simulate(job: Job, card: Card, found: Simulated, strategy: Strategy = "single") -> Estimate:
    """The estimate from a simulated step."""
    return _spread("simulation", find_peak(found, card.workspace), job, card, strategy)


def compute(job: Job, card: Card, strategy: Strategy = "single") -> Estimate:
    """Raises shape.ShapeError for an architecture that the closed form does not cover."""
    return _spread("closed form", closed_form.predict(job, card.workspace), job, card, strategy)


def _spread(how: How, peak: Peak, job: Job, card: Card, strategy: Strategy) -> Estimate:
    """The peak of one card. Another moment may be the highest once parts are shared out, so that the closed form finds it anew;
    it is scaled by how far it was from `peak` on one card."""
    if strategy == "single" or card.count < 2:
        return Estimate(how, peak.allocated, peak.reserved, peak.breakdown, BOUNDS[how])
    shape = read_shape(job.config)
    parts = closed_form.predict(
        job, card.workspace, lambda moment: split_breakdown(moment, job, shape, card.count, strategy)
    ).breakdown
    scale = peak.allocated / closed_form.predict(job, card.workspace).allocated
    allocated = int(sum(parts.values()) * scale)
    return Estimate(how, allocated, int(allocated * peak.reserved / peak.allocated), parts, SEVERAL)


def verdict(estimate: Estimate, card: Card) -> Verdict:
    """fits: even what the allocator would reserve fits, error included. tight: it fits once the allocator gives cached blocks
    back."""
    room = card.available
    if room is None:
        return "unknown"
    bound = estimate.error_bound
    if estimate.peak_reserved_bytes * (1 + bound.reserved) <= room:
        return "fits"
    if estimate.peak_allocated_bytes * (1 + bound.allocated) <= room:
        return "tight"
    return "too close to call" if estimate.peak_allocated_bytes * (1 - bound.allocated) <= room else "does not fit"


def margin(estimate: Estimate, card: Card) -> int | None:
    """Bytes left over (negative: missing) when nothing that is allocated can be given back."""
    return None if card.available is None else card.available - estimate.peak_allocated_bytes


ZERO_BUCKET = 500_000_000
"""DeepSpeed's reduce_bucket_size and allgather_bucket_size, in values (its documented default)."""
ZERO3_LIVE = 1_000_000_000
"""DeepSpeed's stage3_max_live_parameters, in values."""


def split_breakdown(breakdown: dict[str, int], job: Job, shape: Shape, cards: int, strategy: Strategy) -> dict[str, int]:
    """The breakdown of one GPU's peak in bytes. Activations and logits are each GPU's own: its micro-batch is not shared."""
    if strategy == "single" or cards < 2:
        return breakdown
    out = dict(breakdown)
    for part in SHARDED[strategy]:
        if part in out:
            out[part] = -(-out[part] // cards)
    out["sharding buffers"] = _buffers(breakdown, job, shape, strategy)
    return out


SHARDED: dict[Strategy, tuple[str, ...]] = {
    "single": (),
    "ddp": (),
    "zero2": ("gradients", "optimizer states", "optimizer scratch"),
    "zero3": ("weights", "adapters", "gradients", "optimizer states", "optimizer scratch"),
    "fsdp2": ("weights", "adapters", "gradients", "optimizer states", "optimizer scratch"),
}


def _buffers(breakdown: dict[str, int], job: Job, shape: Shape, strategy: Strategy) -> int:
    """DDP: a second copy of the gradients in buckets. ZeRO: its buckets. FSDP2: two whole layers (one prefetched) and the
    root's own."""
    size = BYTES[job.dtype]
    trainable = shape.parameters if job.method == "full" else breakdown.get("adapters", 0) // BYTES[job.adapter_dtype]
    if strategy == "ddp":
        return trainable * (size if job.method == "full" else BYTES[job.adapter_dtype])
    if strategy == "zero2":
        return 2 * min(ZERO_BUCKET, trainable) * size
    if strategy == "zero3":
        return min(ZERO3_LIVE, shape.parameters) * size + min(ZERO_BUCKET, trainable) * size
    return (2 * shape.layer_parameters + shape.embedding_parameters) * size
