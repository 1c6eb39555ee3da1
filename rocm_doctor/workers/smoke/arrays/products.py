"""Matrix products, one stage per number format, against float64 in numpy. Allowed errors: see ../compare.py and ../products.py."""

from __future__ import annotations

import math
from typing import Any

from ..compare import norm, tolerance
from ..products import LARGE, SHAPES, SMALL, SPLIT_STEPS, TF32_EPS
from .context import EPS, ArrayContext


def matmul(context: ArrayContext) -> dict[str, Any]:
    """fp32 products. Allowed: one rounding of the result and sums in fp32."""
    with context.precision("highest"):
        worst = products(context, "float32", EPS["float32"])
        return dict(large(context, "float32", EPS["float32"]), worst_error=worst)


def tf32(context: ArrayContext) -> dict[str, Any]:
    """fp32 products with reduced precision allowed: both operands may be rounded to ten bits of mantissa."""
    with context.precision("high"):
        worst = products(context, "float32", TF32_EPS, steps=2)
        return dict(large(context, "float32", TF32_EPS, steps=2), worst_error=worst)


def fp16(context: ArrayContext) -> dict[str, Any]:
    """fp16: conversion bit for bit, products, sums."""
    return sixteen_bits(context, "float16")


def bf16(context: ArrayContext) -> dict[str, Any]:
    """bf16, likewise."""
    return sixteen_bits(context, "bfloat16")


def products(context: ArrayContext, dtype: str, eps: float, steps: float = 1) -> float:
    """Products of all shapes; the worst relative error."""
    worst = 0.0
    for rows, length, columns in SHAPES:
        left, right = context.random(rows, length, dtype=dtype), context.random(length, columns, dtype=dtype)
        name = f"{dtype} product {rows} x {length} x {columns}"
        context.doing(name + " (the first kernel may be compiled)")
        got = context.put(left) @ context.put(right)
        left, right = wide(context, left), wide(context, right)
        size = norm(left) * norm(right) / math.sqrt(length)
        worst = max(worst, context.check(name, got, left @ right, tolerance(eps, length, steps), size))
    return worst


def wide(context: ArrayContext, array: Any) -> Any:
    """The array in float64."""
    return array.astype(context.np.float64)


def large(context: ArrayContext, dtype: str, eps: float, steps: float = 1) -> dict[str, Any]:
    """A product of the size of a small model's layers: timed, and eight of its rows compared."""
    edge = LARGE if context.on_gpu else SMALL
    context.doing(f"{dtype} product {edge} x {edge} x {edge}, timed")
    left, right = context.random(edge, edge, dtype=dtype), context.random(edge, edge, dtype=dtype)
    here, there = context.put(left), context.put(right)
    some = slice(0, edge, edge // 8)
    got = context.get(here @ there)[some]
    context.check(f"large {dtype} product", got, wide(context, left[some]) @ wide(context, right), tolerance(eps, edge, steps))
    first = context.clock(lambda: context.wait(here @ there))
    seconds = context.clock(lambda: context.wait(here @ there), max(1, min(10, int(0.3 / max(first, 1e-6)))))
    return {"tflops": round(2 * edge**3 / seconds / 1e12, 3), "edge": edge}


def sixteen_bits(context: ArrayContext, dtype: str) -> dict[str, Any]:
    """Conversion, products and sums in a 16-bit format."""
    conversion(context, dtype)
    worst = products(context, dtype, EPS[dtype], SPLIT_STEPS)
    values = abs(context.random(257, 4099, dtype=dtype))
    context.doing(f"{dtype} reductions")
    here, exact = context.put(values), wide(context, values)
    allowed = tolerance(EPS[dtype], values.shape[1], context.sum_steps)
    context.check(f"{dtype} sum", context.ops.sum(here, axis=1), exact.sum(axis=1), allowed)
    context.check(f"{dtype} softmax", context.ops.softmax(here), context.references.softmax(exact), allowed)
    return dict(large(context, dtype, EPS[dtype], SPLIT_STEPS), worst_error=worst)


def conversion(context: ArrayContext, dtype: str) -> None:
    """fp32 to the format and back. IEEE 754 fixes every bit: round to nearest, ties to even; overflow gives infinity."""
    np = context.np
    ties = 1 + np.arange(0, 64, dtype=np.float32) * np.float32(EPS[dtype] / 2)
    most = {"float16": 65504.0, "bfloat16": 3.3895314e38}[dtype]
    ends = np.array([0.0, -0.0, 1.0, -2.5, most, np.inf, -np.inf, 1e38], dtype=np.float32)
    values = np.concatenate([context.random(65537), ties, -ties, ends])
    with np.errstate(over="ignore"):
        halves = values.astype(context.dtype(dtype))
    context.same_bits(f"conversion from float32 to {dtype}", context.ops.cast(context.put(values), dtype), halves)
    context.same_bits(
        f"conversion from {dtype} to float32", context.ops.cast(context.put(halves), "float32"), halves.astype(np.float32)
    )
