"""LoRA: a frozen network, low-rank adapters, a few steps of training, compared with the same steps in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

Step = Callable[[Sequence[Any]], "tuple[Any, list[Any]]"]
"""Adapters, x and y -> the loss and the gradients of all of them."""


def lora(context: Context) -> dict[str, Any]:
    """Loss curves in fp32, and with 16-bit products and fp32 adapters. Reasons: mismatch, nan, zeros, no-progress, base-changed."""
    parts = {}
    for n in ("1", "2"):  # a is random and b zero, as LoRA starts (Hu et al., 2021, section 4.1)
        parts["w" + n] = context.random(WIDTH, WIDTH) / WIDTH**0.5
        parts["a" + n] = context.random(RANK, WIDTH) / WIDTH**0.5
        parts["b" + n] = context.random(WIDTH, RANK) * 0
    x = context.random(ROWS, WIDTH)
    teacher = dict(parts, b1=context.random(WIDTH, RANK) / 8, b2=context.random(WIDTH, RANK) / 8)
    with context.exactly():
        wide = {name: context.wide(part) for name, part in teacher.items()}
        y = context.cast(context.get(answer(context.ops, wide, context.wide(x), "float64")), "float32")
    curves: dict[str, list[Any]] = {}
    for dtype in ("float32", *context.halves):
        context.doing(f"{STEPS} LoRA steps in {dtype}")
        curves[dtype] = train_on_device(context, parts, [x, y], dtype)
    want, ends = train_exactly(context, parts, [x, y]), {}
    for dtype, losses in curves.items():
        steps = TRAJECTORY_STEPS if dtype == "float32" else HALF_STEPS
        got = context.host([float(context.get(loss)) for loss in losses])
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


def loss_of(ops: Any, frozen: dict[str, Any], dtype: str) -> Callable[..., Any]:
    """The mean squared error as a function of adapters (in the order of ADAPTERS), x and y; a sum in float32 at least."""

    def loss(*operands: Any) -> Any:
        *adapters, x, y = operands
        made = answer(ops, dict(zip(ADAPTERS, adapters), **frozen), x, dtype)
        off = (made if dtype == "float64" else ops.cast(made, "float32")) - y
        return ops.mean(off * off)

    return loss


def descend(step: Step, adapters: list[Any], data: list[Any]) -> tuple[list[Any], list[Any]]:
    """The losses of plain gradient descent, and the last gradients of the adapters. Plain, because Adam's quotient blows up the rounding of
    tiny gradients."""
    losses: list[Any] = []
    gradients: list[Any] = []
    for _ in range(STEPS):
        loss, (*gradients, _, _) = step([*adapters, *data])
        losses.append(loss)
        adapters = [adapter - RATE * gradient for adapter, gradient in zip(adapters, gradients)]
    return losses, gradients


def train_on_device(context: Context, parts: dict[str, Any], data: list[Any], dtype: str) -> list[Any]:
    """The losses; the adapters' gradients must be finite and not all zero, the frozen weights stay what they were."""
    frozen = {name: context.put(part) for name, part in parts.items() if name not in ADAPTERS}
    step = context.compiled(loss_of(context.ops, frozen, dtype))
    with context.precise():
        adapters = [context.put(parts[name]) for name in ADAPTERS]
        losses, gradients = descend(lambda operands: step(operands, None), adapters, [context.put(x) for x in data])
    for name, gradient in zip(ADAPTERS, map(context.get, gradients)):
        if not bool(context.is_finite(gradient).all()):
            raise Wrong("nan", f"the gradient of {name} in {dtype} is not finite")
        if not bool(gradient.any()):
            raise Wrong("zeros", f"the gradient of {name} in {dtype} is all zero")
    for name, part in frozen.items():
        if not bool((context.get(part) == parts[name]).all()):
            raise Wrong("base-changed", f"the frozen weight {name} changed")
    return losses


def train_exactly(context: Context, parts: dict[str, Any], data: list[Any]) -> Any:
    """The losses in float64 on the CPU."""
    frozen = {name: context.wide(part) for name, part in parts.items() if name not in ADAPTERS}
    loss = loss_of(context.ops, frozen, "float64")
    losses, _ = descend(lambda operands: context.exact(loss, operands), [context.wide(parts[name]) for name in ADAPTERS], data)
    return context.host([float(loss) for loss in losses], "float64")
