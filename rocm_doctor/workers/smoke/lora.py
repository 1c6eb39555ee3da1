"""LoRA: a frozen network, low-rank adapters, a few steps of training, compared with the same steps in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compare import Wrong, tolerance
from .context import EPS, Context

WIDTH, RANK, ROWS, STEPS, RATE = 128, 8, 64, 6, 1.0
ADAPTERS = ("a1", "b1", "a2", "b2")
TRAJECTORY_STEPS = 256
"""Roundings allowed along the loss curve: 6 steps, each through 2 layers of 2 products forward and 4 backward and the update
(about 16), and as many again for each earlier step, since the updates of plain gradient descent feed on one another: 6 * 16 * 6
/ 2, rounded down.
"""
HALF_STEPS = 16
"""For 16-bit products relative to the first loss: the 16 of one step."""


def lora(context: Context) -> dict[str, Any]:
    """Loss curves in fp32, and with 16-bit products and fp32 adapters. Reasons: mismatch, nan, zeros, no-progress, base-changed."""
    parts = {}
    for n in ("1", "2"):  # a is random and b zero, as LoRA starts (Hu et al., 2021, section 4.1)
        parts["w" + n] = context.random(WIDTH, WIDTH) / WIDTH**0.5
        parts["a" + n] = context.random(RANK, WIDTH) / WIDTH**0.5
        parts["b" + n] = context.random(WIDTH, RANK) * 0
    x = context.random(ROWS, WIDTH)
    teacher = dict(parts, b1=context.random(WIDTH, RANK) / 8, b2=context.random(WIDTH, RANK) / 8)
    with context.use_float64():
        wide = {name: context.widen(part) for name, part in teacher.items()}
        y = context.cast(context.get(answer(context.ops, wide, context.widen(x), "float64")), "float32")
    curves = {}
    for dtype in ("float32", *context.halves, "float64"):
        context.report(f"{STEPS} LoRA steps in {dtype}")
        curves[dtype] = train(context, parts, [x, y], dtype)
    want, ends = curves.pop("float64"), {}
    for dtype, got in curves.items():
        steps = TRAJECTORY_STEPS if dtype == "float32" else HALF_STEPS
        context.check(f"loss curve in {dtype}", got, want, tolerance(EPS[dtype], WIDTH, steps))
        ends[dtype] = float(got[-1])
        if not got[-1] < got[0]:
            raise Wrong("no-progress", f"the loss in {dtype} went from {float(got[0]):.4g} to {ends[dtype]:.4g}")
    return {"first_loss": float(want[0]), "last_loss": ends}


def answer(ops: Any, parts: dict[str, Any], x: Any, dtype: str) -> Any:
    """The network's answer, computed in `dtype`."""
    transposed = {name: ops.swap(ops.cast(part, dtype)) for name, part in parts.items()}
    x = ops.cast(x, dtype)
    for n in ("1", "2"):
        x = x @ transposed["w" + n] + 2 * (x @ transposed["a" + n]) @ transposed["b" + n]
        x = ops.gelu(x) if n == "1" else x
    return x


def make_loss(ops: Any, frozen: dict[str, Any], dtype: str) -> Callable[..., Any]:
    """The mean squared error as a function of adapters (in the order of ADAPTERS), x and y; a sum in float32 at least."""

    def loss(*operands: Any) -> Any:
        *adapters, x, y = operands
        result = answer(ops, dict(zip(ADAPTERS, adapters), **frozen), x, dtype)
        off = (result if dtype == "float64" else ops.cast(result, "float32")) - y
        return ops.mean(off * off)

    return loss


def train(context: Context, parts: dict[str, Any], data: list[Any], dtype: str) -> Any:
    """The losses of plain gradient descent with products in `dtype`, on the device; with float64 on the CPU. Plain, because
    Adam's quotient blows up the rounding of tiny gradients. On the device it raises Wrong if a gradient of the adapters is not
    finite, if all are zero, or if a frozen weight changed."""
    exact = dtype == "float64"
    move = context.widen if exact else context.put
    with context.use_float64() if exact else context.full_precision():
        frozen = {name: move(part) for name, part in parts.items() if name not in ADAPTERS}
        adapters, data = [move(parts[name]) for name in ADAPTERS], [move(x) for x in data]
        step = context.compile(make_loss(context.ops, frozen, dtype))
        losses: list[float] = []
        gradients: list[Any] = []
        for _ in range(STEPS):
            loss, (*gradients, _, _) = step([*adapters, *data], None)
            losses.append(float(context.get(loss)))
            adapters = [adapter - RATE * gradient for adapter, gradient in zip(adapters, gradients)]
    if not exact:
        check_step(context, parts, frozen, gradients)
    return context.host(losses, "float64")


def check_step(context: Context, parts: dict[str, Any], frozen: dict[str, Any], gradients: list[Any]) -> None:
    """Raise Wrong for a gradient that is not finite or all zero, or a frozen weight that changed."""
    for name, gradient in zip(ADAPTERS, map(context.get, gradients)):
        if not bool(context.is_finite(gradient).all()):
            raise Wrong("nan", f"the gradient of {name} is not finite")
        if not bool(gradient.any()):
            raise Wrong("zeros", f"the gradient of {name} is all zero")
    for name, part in frozen.items():
        if not bool((context.get(part) == parts[name]).all()):
            raise Wrong("base-changed", f"the frozen weight {name} changed")
