"""Scaled dot product attention, each backend forced, forward and backward against float64.

**Tolerances**, in roundings to the format (see compare.py), with scores of at most about 4 in size because queries and keys are
normal and scaled: rounding the scores, and the two halves of the scale, moves the exponent by 4 * 1.5 roundings; then the
probabilities and the result are rounded: 7 in all for the forward pass. The backward pass repeats the forward error in the
probabilities, rounds their gradient, cancels its row mean (a factor of two) and rounds the product: 16.
"""

from __future__ import annotations

import math
from typing import Any

from .compare import NoKernel, Skip, tolerance
from .context import EPS, Context

FORWARD_STEPS, BACKWARD_STEPS = 7, 16
CASES = ((2, 4, 128, 64, True), (1, 2, 77, 64, False), (1, 2, 96, 128, True))
"""Batch, heads, length, width of a head, causal: the usual one, an odd length, a wide head."""
PARTS = ("result", "gradient of q", "gradient of k", "gradient of v")


def compare(context: Context, backend: str, *dtypes: str) -> dict[str, Any]:
    """The worst error of each format, and the operands that the kernel refused. Raises Skip with its words if it refused all.
    `backend` math: plain products, which every chip has; efficient, flash: kernels, on ROCm AOTriton's. NaN in bf16 was seen with
    flash on gfx1151 (unslothai/unsloth#3385)."""
    worst: dict[str, float] = {}
    refused: list[str] = []
    for dtype in dtypes:
        for case in CASES:
            try:
                with context.full_precision():
                    error = run_case(context, backend, dtype, *case)
            except NoKernel as skip:
                refused.append(f"{dtype}, length {case[2]}: {skip}")
            else:
                worst[dtype] = max(error, worst.get(dtype, 0.0))
    if not worst:
        raise Skip("no-kernel", "; ".join(refused)[:1500])
    return {"worst_error": worst, "refused": refused}


def run_case(context: Context, backend: str, dtype: str, batch: int, heads: int, length: int, width: int, causal: bool) -> float:
    """The worst error of the result and the gradients for one shape."""
    what = f"{backend} attention in {dtype}, length {length}, width {width}{', causal' if causal else ''}"
    context.report(what + " (kernels may be compiled)")
    q, k, v, pull = (context.random(batch, heads, length, width, dtype=dtype) for _ in range(4))
    here = [context.put(x) for x in (q, k, v)]
    result, gradients = context.gradients(lambda q, k, v: context.attend(backend, q, k, v, causal), here, context.put(pull))
    want, wanted = context.exact_gradients(lambda q, k, v: plain_attention(context.ops, q, k, v, causal), (q, k, v), pull)
    errors = []
    for part, got, right in zip(PARTS, [result, *gradients], [want, *wanted]):
        steps = FORWARD_STEPS if part == "result" else BACKWARD_STEPS
        errors.append(context.check(f"{part} of {what}", got, right, tolerance(EPS[dtype], length, steps)))
    return max(errors)


def plain_attention(ops: Any, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention as products and a softmax of [batch, head, length, width]. Scores of 16-bit operands are float32, as in the models that
    the frameworks ship."""
    dtype = str(getattr(q.dtype, "name", q.dtype)).rpartition(".")[2]
    scores = ops.cast(q @ ops.swap(k), dtype if dtype == "float64" else "float32") / math.sqrt(q.shape[-1])
    return ops.cast(ops.softmax(ops.causal(scores) if causal else scores), dtype) @ v
