"""Peak memory by arithmetic: for machines without torch, and for trying many settings at once. Pure Python, well under a
millisecond.

A step is highest at one of four moments: when the loss is differentiated, in the backward pass of a layer, at its end, or inside the
optimizer. The highest is the answer; what stays all the time (weights, adapters, optimizer states) counts in each.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.fit import activations
from rocm_doctor.fit.allocator import MemoryPeak
from rocm_doctor.fit.job import BYTES, Job
from rocm_doctor.fit.shape import MLP, ModelShape, ShapeError, read_shape

EIGHT_BIT = 1 + 4 / 256
"""Bytes per value of a blockwise 8-bit state: the value and its share of a float32 scale per 256 of them."""

FUSED_TOKENS = 256
"""Tokens that a fused loss takes at a time, at least (workers/fit/loss.py)."""


class Held(msgspec.Struct, frozen=True):
    """Bytes by purpose; `gradients` are those of all trained parameters, each in the dtype of its parameter. `trainable` is a
    number of parameters."""

    weights: int
    adapters: int
    states: int
    gradients: int
    trainable: int


def predict(job: Job, workspace: int) -> MemoryPeak:
    """The peak of a step: its highest moment. `workspace`: bytes of BLAS scratch in each of two threads. Raises ShapeError for an
    architecture that the closed form does not cover."""
    shape = trained_shape(job)
    held = count_held_bytes(shape, job)
    fixed = {
        "BLAS workspace": 2 * workspace,
        "weights": held.weights,
        "adapters": held.adapters,
        "optimizer states": held.states,
    }
    moments = [{**fixed, **moment(shape, job, held)} for moment in MOMENTS]
    breakdown = {name: int(size) for name, size in max(moments, key=lambda parts: sum(parts.values())).items() if size}
    allocated = sum(breakdown.values())
    return MemoryPeak(allocated, reserved_bytes(shape, job, allocated), breakdown)


def trained_shape(job: Job) -> ModelShape:
    """The sizes of the model. Raises shape.ShapeError for LoRA on experts, which peft adapts in Qwen3's, all of them at once."""
    shape = read_shape(job.config)
    if job.config.get("model_type") == "qwen3_moe" and job.method != "full" and set(job.targets) & {*MLP, "all-linear"}:
        named = ",".join(name for name in shape.projections if name in job.targets) or "q_proj,k_proj,v_proj,o_proj"
        raise ShapeError(
            f"qwen3_moe: LoRA on experts is beyond the closed form; give --targets {named}, or install torch, transformers and peft to simulate"
        )
    return shape


def count_held_bytes(shape: ModelShape, job: Job) -> Held:
    """Bytes of weights, adapters, optimizer states and gradients, and the number of trained parameters. States and gradients have
    the dtype of what is trained: the whole model, or else the adapters."""
    if job.method == "full":
        dense = shape.parameters * BYTES[job.dtype]
        return Held(dense, 0, _state_bytes(job, shape.parameters, BYTES[job.dtype]), dense, shape.parameters)
    count = shape.layers * job.rank * sum(a + b for a, b in shape.adapted_linears(job.targets).values())
    size = BYTES[job.adapter_dtype]
    return Held(_base_bytes(shape, job), size * count, _state_bytes(job, count, size), size * count, count)


def _base_bytes(shape: ModelShape, job: Job) -> int:
    """The base under adapters: dense, or its projections in 4 or 8 bits with their scales and the rest as k-bit preparation
    leaves it."""
    if not job.quant_bits:
        return shape.parameters * BYTES[job.dtype]
    packed = shape.layers * sum(a * b for a, b in shape.projections.values())
    scales = 4 / shape.hidden if job.quant_bits == 8 else (1 + 4 / 256) / 64 if job.double_quant else 4 / 64
    rest = shape.parameters - packed
    return int(packed * (job.quant_bits / 8 + scales)) + rest * activations.stream_bytes(job)


def _state_bytes(job: Job, count: int, size: int) -> int:
    """AdamW has two per parameter; paged ones are in host memory; Adafactor's are a row and a column; plain SGD has none."""
    if job.optimizer in ("adamw", "adamw_fused"):
        return 2 * count * size
    return int(2 * count * EIGHT_BIT) if job.optimizer == "adamw_8bit" else 0


def _kept_bytes(shape: ModelShape, job: Job) -> dict[str, int]:
    """What the forward pass leaves: all activations, or under checkpointing each layer's input; the final norm's input in
    float32; under autocast the lowered copy of the output head."""
    stream = activations.stream_bytes(job)
    layer = job.tokens * shape.hidden * stream if job.checkpointing else activations.saved_bytes(shape, job)
    final = job.tokens * shape.hidden * (4 + (stream if job.method == "full" else 0))
    head = shape.vocabulary * shape.hidden * BYTES[job.autocast] if job.autocast and activations.stream_bytes(job) == 4 else 0
    return {"activations": shape.layers * layer + final + head}


def _accumulated_bytes(job: Job, held: Held) -> int:
    """Gradients of earlier micro-batches are there all through a later one."""
    return held.gradients if job.grad_accum > 1 else 0


def _loss_moment(shape: ModelShape, job: Job, held: Held) -> dict[str, int]:
    """Three float32 tensors of tokens x vocabulary (log-probabilities and two gradients); Gemma 2's soft cap keeps one more."""
    logits = job.tokens * shape.vocabulary * (12 + (activations.compute_bytes(job) if shape.softcap else 0))
    if job.fused_loss:
        chunks = -(-shape.vocabulary // shape.hidden)
        chunk = max(FUSED_TOKENS, 1 << (-(-job.tokens // chunks) - 1).bit_length())
        value = BYTES[job.autocast or job.dtype]
        logits = min(chunk, job.tokens) * shape.vocabulary * (4 + value) + job.tokens * shape.hidden * BYTES[job.dtype]
    return {**_kept_bytes(shape, job), "logits and loss": logits, "gradients": _accumulated_bytes(job, held)}


def _layer_moment(shape: ModelShape, job: Job, held: Held) -> dict[str, int]:
    """Backward pass of the last layer: recomputed first when checkpointed; the gradient of the output head is there already."""
    head = shape.vocabulary * shape.hidden * BYTES[job.dtype] if job.method == "full" else 0
    again, scratch = _layer_peak_bytes(shape, job)
    kept = _kept_bytes(shape, job)["activations"] + (again if job.checkpointing else 0)
    return {"activations": kept, "gradients": max(head, _accumulated_bytes(job, held)), "backward scratch": scratch}


def _layer_peak_bytes(shape: ModelShape, job: Job) -> tuple[int, int]:
    """(kept, scratch) bytes of one layer in its backward pass; the scratch has the largest weight once more if weights are
    quantised."""
    kept, scratch = activations.layer_peak(shape, job)
    largest = max(a * b for a, b in shape.projections.values())
    return kept, scratch + (largest * BYTES[job.dtype] if job.quant_bits else 0)


def _end_moment(shape: ModelShape, job: Job, held: Held) -> dict[str, int]:
    """All gradients are there, and beside them the first layer's activations or, for tied embeddings, the two gradients whose
    sum is theirs."""
    embedding = 2 * shape.vocabulary * shape.hidden * BYTES[job.dtype] if job.method == "full" and shape.tied else 0
    kept, scratch = _layer_peak_bytes(shape, job)
    if embedding > kept + scratch:
        return {"gradients": held.gradients, "backward scratch": embedding}
    return {"gradients": held.gradients, "activations": kept, "backward scratch": scratch}


def _optimizer_moment(shape: ModelShape, job: Job, held: Held) -> dict[str, int]:
    """torch's foreach AdamW takes the square roots of all second moments at once; Adafactor works on one parameter after
    another."""
    scratch = 0
    if job.optimizer == "adamw":
        scratch = held.states // 2
    elif job.optimizer == "adafactor":
        largest = (
            shape.vocabulary * shape.hidden
            if job.method == "full"
            else max(max(s) for s in shape.projections.values()) * job.rank
        )
        scratch = 4 * largest * (2 if held.gradients == 4 * held.trainable else 4)
    return {"gradients": held.gradients, "optimizer scratch": scratch}


def reserved_bytes(shape: ModelShape, job: Job, allocated: int) -> int:
    """What the allocator holds at the peak: the logits' own block is free again by then and fits nothing larger."""
    return allocated + (0 if job.fused_loss else job.tokens * shape.vocabulary * activations.compute_bytes(job))


MOMENTS = (_loss_moment, _layer_moment, _end_moment, _optimizer_moment)
