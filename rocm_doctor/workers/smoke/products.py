"""Matrix products, one stage per number format and per BLAS library of torch, against float64 on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import hip
from .compare import Skip, tolerance
from .context import EPS, LARGEST, Context

SHAPES = ((256, 256, 256), (129, 515, 255), (1, 1024, 64), (333, 64, 1))
"""Rows, length of the sums, columns: square, odd, and both narrow kinds."""
LARGE, SMALL = 4096, 512
"""Edge of the largest product, on a GPU and on a CPU."""
SPLIT_STEPS = 4
"""Roundings of a 16-bit product. torch lets BLAS libraries split a sum and add the parts in 16 bits
(allow_fp16_reduced_precision_reduction and its bf16 twin are on by default): eight parts added pairwise are three roundings,
and the result is one more.
"""


def compare(context: Context, dtype: str, steps: float = 1) -> dict[str, Any]:
    """Products of all shapes, and one of the size of a small model's layers, of which eight rows are compared. Allowed: `steps` roundings and
    sums in fp32."""
    with context.full_precision():
        return {"worst_error": _worst_product(context, dtype, steps)}


def _worst_product(context: Context, dtype: str, steps: float) -> float:
    worst = 0.0
    for rows, length, columns in SHAPES:
        left, right = context.random(rows, length, dtype=dtype), context.random(length, columns, dtype=dtype)
        name = f"{dtype} product {rows} x {length} x {columns}"
        context.report(name + " (the first kernel may be compiled)")
        got, want = context.put(left) @ context.put(right), context.widen(left) @ context.widen(right)
        worst = max(
            worst, context.check(name, got, want, tolerance(EPS[dtype], length, steps), context.product_size(left, right))
        )
    edge = LARGE if context.on_gpu else SMALL
    context.report(f"{dtype} product {edge} x {edge} x {edge}")
    left, right = context.random(edge, edge, dtype=dtype), context.random(edge, edge, dtype=dtype)
    here, there = context.put(left), context.put(right)
    want = context.widen(left[:: edge // 8]) @ context.widen(right)
    context.check(f"large {dtype} product", (here @ there)[:: edge // 8], want, tolerance(EPS[dtype], edge, steps))
    return worst


def compare_halves(context: Context, dtype: str) -> dict[str, Any]:
    """Conversion, products and sums in a 16-bit format.

    IEEE 754 fixes every bit of a conversion: round to nearest, ties to even; overflow gives infinity.
    """
    ops, eps = context.ops, EPS[dtype]
    ties = [sign * (1 + n * eps / 2) for n in range(64) for sign in (1, -1)]
    special = context.host([*ties, 0.0, -0.0, 1.0, -2.5, LARGEST[dtype], float("inf"), float("-inf"), 1e38])
    for values in (context.random(65537), special):
        here = ops.cast(context.put(values), dtype)
        halves = context.cast(values, dtype)
        context.same_bits(f"conversion from float32 to {dtype}", here, halves)
        context.same_bits(f"conversion from {dtype} to float32", ops.cast(here, "float32"), context.cast(halves, "float32"))
    details = compare(context, dtype, SPLIT_STEPS)
    values = abs(context.random(257, 4099, dtype=dtype))
    context.report(f"{dtype} reductions")
    wide, allowed = context.widen(values), tolerance(eps, values.shape[1])
    context.check(f"{dtype} sum", ops.sum(context.put(values)), wide.sum(axis=1), allowed)
    with context.use_float64():
        want = context.get(ops.softmax(wide))
    # Softmax rounds its input differences, the exponential and the quotient in fp32, and the result once.
    context.check(f"{dtype} softmax", ops.softmax(context.put(values)), want, allowed)
    return details


def compare_library(context: Any, name: str) -> dict[str, Any]:
    """torch's products through a BLAS library in every layout and format: the worst error by format. `name` is torch's: cublas is hipBLAS
    (rocBLAS) on ROCm, cublaslt hipBLASLt. On a CPU: through the one library there is. Skipped where torch falls back to the other one."""
    cuda = context.torch.backends.cuda
    if not context.on_gpu and name == "cublas":
        return {"library": "cpu", "worst_error": compare_layouts(context)}
    if not context.on_gpu or not hip.can_choose_blas(context.torch):
        raise Skip("no-choice", "a CPU build has one BLAS library, and an old torch cannot choose")
    before = cuda.preferred_blas_library()
    try:
        taken = str(cuda.preferred_blas_library(name))
        worst = compare_layouts(context)
        if name == "cublaslt" and "lt" not in str(cuda.preferred_blas_library()).lower():
            raise Skip("fell-back", "torch does not use its Lt library on this chip")
        return {"library": taken, "worst_error": worst}
    finally:
        cuda.preferred_blas_library(before)


def compare_layouts(context: Any) -> dict[str, float]:
    """Worst error of products in every layout, by format."""
    worst: dict[str, float] = {}
    for dtype, steps in (("float32", 1), *((half, SPLIT_STEPS) for half in context.halves)):
        context.report(f"{dtype} products in every layout")
        with context.full_precision():
            for name, got, want, length in layouts(context, dtype):
                error = context.check(f"{dtype} product, {name}", got, want, tolerance(EPS[dtype], length, steps))
                worst[dtype] = max(error, worst.get(dtype, 0.0))
    return worst


def layouts(context: Any, dtype: str) -> Iterator[tuple[str, Any, Any, int]]:
    """(name, the device's result, the float64 result, length of the sums) of products that are plain, transposed, batched, and
    with a bias."""
    torch = context.torch
    for rows, length, columns in ((128, 256, 192), (67, 129, 35)):
        left, right = context.random(rows, length, dtype=dtype), context.random(length, columns, dtype=dtype)
        bias = context.random(columns, dtype=dtype)
        want = left.double() @ right.double()
        a, b, c = context.put(left), context.put(right), context.put(bias)
        at, bt = context.put(left.t().contiguous()), context.put(right.t().contiguous())
        yield "plain", a @ b, want, length
        yield "left transposed", at.t() @ b, want, length
        yield "right transposed", a @ bt.t(), want, length
        yield "both transposed", at.t() @ bt.t(), want, length
        yield "with bias", torch.nn.functional.linear(a, bt, c), want + bias.double(), length
        yield "batched", torch.bmm(a.expand(3, -1, -1), b.expand(3, -1, -1)), want.expand(3, -1, -1), length
