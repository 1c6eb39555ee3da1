"""A run over several GPUs: what each of them holds. From the documented behaviour of each scheme; none of it was measured by
us."""

from __future__ import annotations

from rocm_doctor.fit.card import Strategy
from rocm_doctor.fit.job import BYTES, Job
from rocm_doctor.fit.shape import Shape

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
