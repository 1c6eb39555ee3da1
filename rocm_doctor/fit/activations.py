"""What one decoder layer keeps for its backward pass, in bytes, counted operator by operator as transformers' modules run them.

Every term follows from what autograd saves: a norm keeps its input in float32; a projection keeps its input only if its weight
trains; peft's LoRA casts the input of each target to the adapter's dtype and keeps that; rotary embedding keeps nothing; SwiGLU keeps gate,
its activation and up. The counts were checked against the simulation (tests/test_fit_closed_form.py), not fitted to
measurements.
"""

from __future__ import annotations

from rocm_doctor.fit.job import BYTES, Job
from rocm_doctor.fit.shape import ModelShape

ATTENTION = ("q_proj", "qkv_proj", "o_proj")
"""The first projection of each group of attention's."""
ROUTED = 4 * 8 + 2 * 4
"""Bytes that the router keeps for each token and expert that it takes: four places and two weights."""


def choose_kernel(shape: ModelShape, job: Job) -> str:
    """The attention path of this run: flash, efficient, math or eager (the rules of `workers/fit/kernels.py`)."""
    card, masked = job.kernels, 0 < shape.window <= job.seq
    grouped = shape.heads != shape.kv_heads and not masked
    if job.implementation == "eager" or shape.softcap:
        return "eager"
    half = attention_bytes(job) == 2
    if card.flash and half and not masked and shape.head_dim <= 256 and (not grouped or card.flash_gqa):
        return "flash"
    return "efficient" if card.efficient and (not grouped or card.efficient_gqa) else "math"


def compute_bytes(job: Job) -> int:
    """Bytes of a value that comes out of a projection. A quantised one gives back the dtype that it was given: the stream's."""
    return stream_bytes(job) if job.quant_bits else BYTES[job.autocast or job.dtype]


def attention_bytes(job: Job) -> int:
    """Bytes of a value inside attention, which autocast lowers in any case."""
    return BYTES[job.autocast] if job.autocast else compute_bytes(job)


def casts_weights(job: Job) -> bool:
    """True if autocast makes copies of the weights and of the residual stream in another dtype."""
    return job.autocast is not None and job.autocast != job.dtype and not job.quant_bits


def stream_bytes(job: Job) -> int:
    """Bytes of a value of the residual stream: peft's preparation for k-bit training makes it float32."""
    return 4 if job.method == "qlora" and job.kbit_prepare else BYTES[job.dtype]


def saved_bytes(shape: ModelShape, job: Job) -> int:
    """All that one layer keeps when it is not checkpointed."""
    return kept_attention_bytes(shape, job) + mlp_bytes(shape, job)


def kept_attention_bytes(shape: ModelShape, job: Job) -> int:
    """Bytes that attention keeps for the backward pass."""
    groups = [group for group in _groups(shape) if group[0] in ATTENTION]
    qk = (shape.query_width + shape.kv_width) * _norm_bytes(shape, job) * job.tokens if shape.qk_norm else 0
    return _norms(shape, job) + qk + _inputs(shape, job, groups) + attention_saved(shape, job)


def mlp_bytes(shape: ModelShape, job: Job) -> int:
    """Bytes that the MLP keeps for the backward pass, those of experts included."""
    groups = [group for group in _groups(shape) if group[0] not in ATTENTION]
    return _norms(shape, job) + _inputs(shape, job, groups) + _mlp(shape, job) + expert_bytes(shape, job)


def _norms(shape: ModelShape, job: Job) -> int:
    """The norms of one half of a layer."""
    return job.tokens * shape.norms // 2 * shape.hidden * _norm_bytes(shape, job)


def _norm_bytes(shape: ModelShape, job: Job) -> int:
    """A norm keeps its input in float32 and, when its weight trains, the normalised value as well."""
    normalised = 4 if shape.gemma_norm else stream_bytes(job)
    return 4 + (normalised if job.method == "full" else 0)


def _inputs(shape: ModelShape, job: Job, groups: list[tuple[str, ...]]) -> int:
    """Inputs of these projections, and under autocast the lowered copies of their weights, which the product keeps as well."""
    adapted = shape.adapted_linears(job.targets)
    total = sum(_group_inputs(shape, job, group, sum(name in adapted for name in group)) for group in groups)
    weights = sum(shape.projections[name][0] * shape.projections[name][1] for group in groups for name in group)
    return job.tokens * total + (weights * compute_bytes(job) if casts_weights(job) else 0)


def _group_inputs(shape: ModelShape, job: Job, group: tuple[str, ...], targets: int) -> int:
    """Bytes per token that projections with a common input keep of it: one value for all, or a copy for each where a cast comes
    between."""
    width, compute = shape.projections[group[0]][0], compute_bytes(job)
    # The attention kernel has kept its output already, and the projection that follows shares it unless a cast comes between.
    kept = group == ("o_proj",) and choose_kernel(shape, job) in ("flash", "efficient")
    if job.method == "full":
        lowered = casts_weights(job) and group[0] not in ("o_proj", "down_proj")
        return 0 if kept else width * compute * (len(group) if lowered else 1)
    base = _int8_bytes(shape, job, group, targets)
    if not targets:
        return base
    if job.autocast:
        return base + targets * (width + job.rank) * BYTES[job.autocast] + _dropout_bytes(job, width, targets)
    adapter = BYTES[job.adapter_dtype]
    copies = targets if stream_bytes(job) != adapter or job.dropout else 0 if kept else 1
    return base + (copies * width + targets * job.rank) * adapter + _dropout_bytes(job, width, targets)


def _int8_bytes(shape: ModelShape, job: Job, group: tuple[str, ...], targets: int) -> int:
    """bitsandbytes' 8-bit layer keeps its input; an adapter may share it, and attention's output is kept already."""
    shared = targets > 0 and stream_bytes(job) == 4 and not job.autocast and not job.dropout
    if job.quant_bits != 8 or shared or group == ("o_proj",):
        return 0
    return shape.projections[group[0]][0] * stream_bytes(job)


def _dropout_bytes(job: Job, width: int, targets: int) -> int:
    """Dropout's mask, one byte a value. What it gives out is then the input that is kept, one for each target."""
    return targets * width if job.dropout else 0


def _groups(shape: ModelShape) -> list[tuple[str, ...]]:
    """Projections by the input that they share."""
    names = tuple(shape.projections)
    if "qkv_proj" in names:
        return [(name,) for name in names]
    return [group for group in (names[:3], names[3:4], names[4:-1], names[4:][-1:]) if group]


def attention_saved(shape: ModelShape, job: Job) -> int:
    """Query, key, value and output, with a logsumexp (fused) or the probabilities of every pair of tokens (math, eager)."""
    compute, kernel = attention_bytes(job), choose_kernel(shape, job)
    query, kv = job.tokens * shape.query_width, job.tokens * shape.kv_width
    if kernel in ("flash", "efficient"):
        kv = _key_values(shape, job, query, kv)
        return (2 * query + 2 * kv) * compute + job.batch * shape.heads * job.seq * 4 + _mask(shape, job)
    if kernel == "math":
        return 3 * query * 4 + score_bytes(shape, job)
    return (2 * query + (query if shape.heads != shape.kv_heads else kv)) * compute + eager_scores(shape, job)


def _key_values(shape: ModelShape, job: Job, query: int, kv: int) -> int:
    """Keys (and as many values) per token: of every query head under a mask; a slice of a fused projection keeps the whole of
    it."""
    if 0 < shape.window <= job.seq and shape.heads != shape.kv_heads:
        return query
    return kv + (query + kv) // 2 if shape.fused_qkv else kv


def _mask(shape: ModelShape, job: Job) -> int:
    """The boolean mask of a sliding window, which each layer turns into one of its own dtype and keeps."""
    return job.seq * job.seq * attention_bytes(job) if 0 < shape.window <= job.seq else 0


def score_bytes(shape: ModelShape, job: Job) -> int:
    """One matrix of scores of all heads in float32 (the composite kernel computes in float32 whatever comes in)."""
    return job.batch * shape.heads * job.seq * job.seq * 4


def eager_scores(shape: ModelShape, job: Job) -> int:
    """transformers' eager attention: the softmax in float32, its cast for the product with the values, the soft cap's tanh."""
    compute, pairs = attention_bytes(job), job.batch * shape.heads * job.seq * job.seq
    return pairs * (4 + (compute if compute < 4 else 0) + (compute if shape.softcap else 0))


def _mlp(shape: ModelShape, job: Job) -> int:
    """Gate, its activation and up. GELU's tanh form keeps as much."""
    return 3 * job.tokens * shape.inner_of_all * compute_bytes(job)


def expert_bytes(shape: ModelShape, job: Job) -> int:
    """Bytes that transformers' grouped product of experts keeps, for each token and expert that it takes: gate, its activation and
    up, and the output, which the router's gradient needs; inputs of both products where the weights train. Of the router: its
    probabilities in float32, and places of 64 bits that sort the tokens and put them back. A shared expert keeps its output."""
    if not shape.experts:
        return 0
    value, train = stream_bytes(job), job.method == "full"
    each = (3 + train) * shape.inner * value + (1 + train) * shape.hidden * value + ROUTED
    own = shape.experts.count * 4 + (shape.hidden * value if shape.experts.shared else 0)
    return job.tokens * (shape.experts.chosen * each + own)


def layer_peak(shape: ModelShape, job: Job) -> tuple[int, int]:
    """What a layer keeps, and the gradients of its scores, at the higher of two moments of its backward pass: in the MLP, and in attention,
    when what the MLP kept is free again. The MLP's own gradients never decide a peak (measured/memory_h200.csv)."""
    attention = kept_attention_bytes(shape, job)
    return max((attention + mlp_bytes(shape, job), 0), (attention, attention_scratch(shape, job)), key=sum)


def attention_scratch(shape: ModelShape, job: Job) -> int:
    """Gradients of the scores after and before the softmax, and the product that its kernel makes first; a fused kernel has
    none."""
    if choose_kernel(shape, job) in ("flash", "efficient"):
        return 0
    return 3 * score_bytes(shape, job)
