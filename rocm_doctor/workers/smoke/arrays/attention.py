"""Scaled dot product attention, forward and backward, against float64. Allowed errors: see ../attention.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..attention import BACKWARD_STEPS, CASES, FORWARD_STEPS, NoKernel
from ..compare import Skip, tolerance
from .context import EPS, ArrayContext
from .products import wide

PARTS = ("result", "gradient of q", "gradient of k", "gradient of v")


def math_backend(context: ArrayContext) -> dict[str, Any]:
    """Attention written out as products and a softmax, compiled by the framework."""
    return try_formats(
        context, "written-out", ("float32", "float16", "bfloat16"), lambda q, k, v, causal: reference(context, q, k, v, causal)
    )


def flash_backend(context: ArrayContext) -> dict[str, Any]:
    """The framework's fused kernel. Skipped where it has none for this device."""
    return try_formats(context, "fused", ("float16", "bfloat16"), context.fused_attention)


def reference(context: ArrayContext, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention as products and a softmax. Scores are float32, as in the models that the frameworks ship."""
    np, ops = context.np, context.ops
    scores = ops.cast(q @ ops.swap(k), "float32") / math.sqrt(q.shape[-1])
    if causal:
        later = np.triu(np.ones((q.shape[-2], q.shape[-2]), dtype=bool), 1)
        scores = ops.where(later, np.float32(-np.inf), scores)
    return ops.cast(ops.softmax(scores), str_dtype(q)) @ v


def str_dtype(value: Any) -> str:
    """The name of a value's number format, whatever the framework calls it."""
    return str(getattr(value.dtype, "name", value.dtype))


def try_formats(context: ArrayContext, name: str, dtypes: tuple[str, ...], action: Callable[..., Any]) -> dict[str, Any]:
    """The worst error by format, and the shapes that the kernel refused; Skip with its words if it refused all."""
    worst: dict[str, float] = {}
    refused: list[str] = []
    for dtype in dtypes:
        for case in CASES:
            try:
                with context.precision("highest"):
                    error = one_case(context, name, dtype, action, *case)
            except NoKernel as skip:
                refused.append(f"{dtype}, length {case[2]}: {skip}")
            else:
                worst[dtype] = max(error, worst.get(dtype, 0.0))
    if not worst:
        raise Skip("no-kernel", "; ".join(refused)[:1500])
    return {"worst_error": worst, "refused": refused}


def one_case(
    context: ArrayContext,
    name: str,
    dtype: str,
    action: Callable[..., Any],
    batch: int,
    heads: int,
    length: int,
    width: int,
    causal: bool,
) -> float:
    """One shape of attention, compared with the reference."""
    what = f"{name} attention in {dtype}, length {length}, width {width}{', causal' if causal else ''}"
    context.doing(what + " (kernels may be compiled)")
    q, k, v, pull = (context.random(batch, heads, length, width, dtype=dtype) for _ in range(4))
    result, gradients = context.gradients(
        lambda *qkv: action(*qkv, causal), [context.put(x) for x in (q, k, v)], context.put(pull)
    )
    exact = [wide(context, x) for x in (q, k, v, pull)]
    want, wanted = context.references.attention(exact[0], exact[1], exact[2], causal, exact[3])
    errors = []
    for part, got, right in zip(PARTS, [result, *gradients], [want, *wanted]):
        steps = FORWARD_STEPS if part == "result" else BACKWARD_STEPS
        errors.append(context.check(f"{part} of {what}", got, right, tolerance(EPS[dtype], length, steps)))
    return max(errors)
