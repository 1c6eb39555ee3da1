"""Matrix products, one stage per number format and per BLAS library, against float64 on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from . import hip
from .compare import Skip, check, product_size, same_bits, tolerance
from .context import StageContext

SHAPES = ((256, 256, 256), (129, 515, 255), (1, 1024, 64), (333, 64, 1))
"""Rows, length of the sums, columns: square, odd, and both narrow kinds."""
LARGE, SMALL = 4096, 512
"""Edge of the timed product, on a GPU and on a CPU."""
SPLIT_STEPS = 4
"""Roundings of a 16-bit product. torch lets BLAS libraries split a sum and add the parts in 16 bits
(allow_fp16_reduced_precision_reduction and its bf16 twin are on by default): eight parts added pairwise are three roundings,
and the result is one more.
"""
TF32_EPS = 2.0**-10
"""TF32 keeps ten bits of mantissa (NVIDIA A100 whitepaper; AMD's xf32 in the CDNA3 instruction set manual keeps as many)."""


def matmul(context: StageContext) -> dict[str, Any]:
    """fp32 products. Allowed: one rounding of the result and sums in fp32."""
    torch = context.torch
    with precision(torch, "highest"):
        worst = products(context, torch.float32, torch.finfo(torch.float32).eps)
        return dict(large(context, torch.float32, torch.finfo(torch.float32).eps), worst_error=worst)


def fp16(context: StageContext) -> dict[str, Any]:
    """fp16: conversion bit for bit, products, sums. Allowed: see SPLIT_STEPS."""
    return sixteen_bits(context, context.torch.float16)


def bf16(context: StageContext) -> dict[str, Any]:
    """bf16, likewise. Wrong or missing on several RDNA1/2 targets while fp16 is right."""
    return sixteen_bits(context, context.torch.bfloat16)


def tf32(context: StageContext) -> dict[str, Any]:
    """fp32 products with reduced precision allowed: both operands may be rounded to ten bits of mantissa."""
    torch = context.torch
    if not hasattr(torch, "set_float32_matmul_precision"):
        raise Skip("no-choice", "this torch cannot choose the precision of fp32 products")
    with precision(torch, "high"):
        worst = products(context, torch.float32, TF32_EPS, steps=2)
        return dict(large(context, torch.float32, TF32_EPS, steps=2), worst_error=worst)


def blas(context: StageContext) -> dict[str, Any]:
    """Products through cuBLAS / hipBLAS (rocBLAS), in every layout and format. On a CPU: through the one library there is."""
    return library(context)


def blaslt(context: StageContext) -> dict[str, Any]:
    """The same through cuBLASLt / hipBLASLt. Skipped where torch falls back to the other library for this chip."""
    if not context.on_gpu:
        raise Skip("no-choice", "a CPU build has one BLAS library")
    return library(context)


class precision:
    """Sets the precision of fp32 products for a while, where torch lets one choose."""

    def __init__(self, torch: Any, wanted: str) -> None:
        self.torch, self.wanted = torch, wanted
        self.can = hasattr(torch, "set_float32_matmul_precision")

    def __enter__(self) -> None:
        if self.can:
            self.before = self.torch.get_float32_matmul_precision()
            self.torch.set_float32_matmul_precision(self.wanted)

    def __exit__(self, *error: Any) -> None:
        if self.can:
            self.torch.set_float32_matmul_precision(self.before)


def products(context: StageContext, dtype: Any, eps: float, steps: float = 1) -> float:
    """Products of all shapes; the worst relative error."""
    torch, worst = context.torch, 0.0
    for rows, length, columns in SHAPES:
        left, right = context.random(rows, length, dtype=dtype), context.random(length, columns, dtype=dtype)
        name = f"{str(dtype)[6:]} product {rows} x {length} x {columns}"
        context.doing(name + " (the first kernel may be compiled)")
        here, there = context.put(left), context.put(right)
        got = run_or_skip(context, partial(torch.matmul, here, there))
        want, allowed = left.double() @ right.double(), tolerance(eps, length, steps)
        worst = max(worst, check(context.torch, name, got, want, allowed, product_size(left, right)))
    return worst


def run_or_skip(context: StageContext, action: Any) -> Any:
    """The action's result; old CPU builds lack 16-bit kernels, which says nothing about a GPU."""
    try:
        return action()
    except RuntimeError as error:
        if context.on_gpu or "not implemented for" not in str(error):
            raise
        raise Skip("not-implemented", str(error)) from None


def large(context: StageContext, dtype: Any, eps: float, steps: float = 1) -> dict[str, Any]:
    """A product of the size of a small model's layers: timed, and eight of its rows compared."""
    edge = LARGE if context.on_gpu else SMALL
    context.doing(f"{str(dtype)[6:]} product {edge} x {edge} x {edge}, timed")
    left, right = context.random(edge, edge, dtype=dtype), context.random(edge, edge, dtype=dtype)
    here, there = context.put(left), context.put(right)
    got = here @ there
    some = range(0, edge, edge // 8)
    want = left[list(some)].double() @ right.double()
    check(context.torch, f"large {str(dtype)[6:]} product", got[list(some)], want, tolerance(eps, edge, steps))
    first = context.clock(lambda: here @ there)
    seconds = context.clock(lambda: here @ there, max(1, min(10, int(0.3 / max(first, 1e-6)))))
    return {"tflops": round(2 * edge**3 / seconds / 1e12, 3), "edge": edge}


def sixteen_bits(context: StageContext, dtype: Any) -> dict[str, Any]:
    """Conversion, products and sums in a 16-bit format."""
    torch, eps = context.torch, context.torch.finfo(dtype).eps
    conversion(context, dtype)
    worst = products(context, dtype, eps, SPLIT_STEPS)
    values = context.random(257, 4099, dtype=dtype).abs()
    context.doing(f"{str(dtype)[6:]} reduction")
    got = run_or_skip(context, lambda: context.put(values).sum(dim=1))
    check(torch, f"{str(dtype)[6:]} sum", got, values.double().sum(dim=1), tolerance(eps, values.shape[1]))
    got = run_or_skip(context, lambda: torch.softmax(context.put(values), dim=1))
    # Softmax rounds its input differences, the exponential and the quotient in fp32, and the result once.
    check(torch, f"{str(dtype)[6:]} softmax", got, torch.softmax(values.double(), dim=1), tolerance(eps, values.shape[1]))
    return dict(large(context, dtype, eps, SPLIT_STEPS), worst_error=worst)


def conversion(context: StageContext, dtype: Any) -> None:
    """fp32 to the format and back. IEEE 754 fixes every bit: round to nearest, ties to even; overflow gives infinity."""
    torch = context.torch
    eps = torch.finfo(dtype).eps
    ties = 1 + torch.arange(0, 64, dtype=torch.float32) * (eps / 2)
    ends = torch.tensor([0.0, -0.0, 1.0, -2.5, torch.finfo(dtype).max, float("inf"), float("-inf")])
    values = torch.cat([context.random(65537), ties, -ties, ends, torch.full((3,), 1e38)])
    same_bits(torch, f"conversion from fp32 to {str(dtype)[6:]}", context.put(values).to(dtype), values.to(dtype))
    halves = values.to(dtype)
    same_bits(torch, f"conversion from {str(dtype)[6:]} to fp32", context.put(halves).float(), halves.float())


def layouts(context: StageContext, dtype: Any) -> Iterator[tuple[str, Any, Any, int]]:
    """Name, the device's result, the float64 result, length of the sums: plain, transposed, batched, and with a bias."""
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


def library(context: StageContext) -> dict[str, Any]:
    """Every layout and format through the BLAS library that the stage is named for."""
    torch = context.torch
    name = hip.blas_choices(torch).get(context.stage) if context.on_gpu else None
    if context.on_gpu and name is None:
        raise Skip("no-choice", "this torch cannot choose its BLAS library")
    before = torch.backends.cuda.preferred_blas_library() if name else None
    try:
        taken = str(torch.backends.cuda.preferred_blas_library(name)) if name else "cpu"
        with precision(torch, "highest"):
            worst = every_format(context)
        if name == "cublaslt" and "lt" not in str(torch.backends.cuda.preferred_blas_library()).lower():
            raise Skip("fell-back", "torch does not use its Lt library on this chip")
        return {"library": taken, "worst_error": worst}
    finally:
        if name:
            torch.backends.cuda.preferred_blas_library(before)


def every_format(context: StageContext) -> dict[str, float]:
    """Worst error of products by format."""
    torch, worst = context.torch, {}
    for dtype, steps in ((torch.float32, 1), (torch.float16, SPLIT_STEPS), (torch.bfloat16, SPLIT_STEPS)):
        short = str(dtype)[6:]
        context.doing(f"{short} products in every layout")
        try:
            worst[short] = max(
                check(torch, f"{short} product, {name}", got, want, tolerance(torch.finfo(dtype).eps, length, steps))
                for name, got, want, length in layouts(context, dtype)
            )
        except RuntimeError as error:
            if context.on_gpu or "not implemented for" not in str(error):
                raise
    return worst
