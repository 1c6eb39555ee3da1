"""LoRA in plain arrays: a frozen network, low-rank adapters, a few steps of training, compared with the same steps in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compare import Wrong, tolerance
from ..lora import RANK, RATE, ROWS, STEPS, TRAJECTORY_STEPS, WIDTH
from .context import EPS, ArrayContext
from .products import wide

ADAPTERS = ("a1", "b1", "a2", "b2")


def lora(context: ArrayContext) -> dict[str, Any]:
    """fp32 against float64 step by step; then fp16 and bf16 with fp32 adapters, whose losses must fall like the reference's."""
    parts, x, y = problem(context)
    want = reference(context, parts, x, y)
    ends = {}
    for dtype, steps in (("float32", TRAJECTORY_STEPS), ("float16", 16), ("bfloat16", 16)):
        context.doing(f"{STEPS} LoRA steps in {dtype}")
        with context.precision("highest"):
            got = train(context, parts, x, y, dtype)
        context.check(f"loss curve in {dtype}", got, want, tolerance(EPS[dtype], WIDTH, steps))
        ends[dtype] = float(got[-1])
    return {"first_loss": float(want[0]), "last_loss": ends}


def build(context: ArrayContext) -> dict[str, Any]:
    """Two frozen layers with adapters: a is random and b zero, as LoRA starts (Hu et al., 2021, section 4.1)."""
    parts, root = {}, WIDTH**0.5
    for n in (1, 2):
        parts[f"w{n}"] = context.random(WIDTH, WIDTH) / context.np.float32(root)
        parts[f"a{n}"] = context.random(RANK, WIDTH) / context.np.float32(root)
        parts[f"b{n}"] = context.np.zeros((WIDTH, RANK), dtype=context.np.float32)
    return parts


def problem(context: ArrayContext) -> tuple[dict[str, Any], Any, Any]:
    """The network, inputs, and the answers of the same network with other adapters."""
    parts, x = build(context), context.random(ROWS, WIDTH)
    teacher = {name: wide(context, part) for name, part in parts.items()}
    for name in ("b1", "b2"):
        teacher[name] = wide(context, context.random(WIDTH, RANK)) / 8
    inner, _ = context.references.gelu(*[wide(context, x) @ merge_adapter(teacher, "1")] * 2)
    return parts, x, (inner @ merge_adapter(teacher, "2")).astype(context.np.float32)


def merge_adapter(parts: dict[str, Any], n: str) -> Any:
    """A layer with its adapter added, transposed."""
    return (parts["w" + n] + 2 * parts["b" + n] @ parts["a" + n]).T


def forward(context: ArrayContext, adapters: dict[str, Any], frozen: dict[str, Any], x: Any, dtype: str) -> Any:
    """The network's answer in float32, computed in `dtype`."""
    ops, parts = context.ops, {}
    for name, part in dict(adapters, **frozen).items():
        parts[name] = ops.swap(ops.cast(part, dtype))
    x = ops.cast(x, dtype)
    for n in ("1", "2"):
        low = x @ parts["a" + n]
        x = x @ parts["w" + n] + (low + low) @ parts["b" + n]
        x = ops.gelu(x) if n == "1" else x
    return ops.cast(x, "float32")


def loss_of(context: ArrayContext, frozen: dict[str, Any], dtype: str) -> Callable[..., Any]:
    """The mean squared error as a function of adapters (in the order of ADAPTERS), x and y."""

    def loss(*operands: Any) -> Any:
        adapters, (x, y) = dict(zip(ADAPTERS, operands)), operands[len(ADAPTERS) :]
        off = forward(context, adapters, frozen, x, dtype) - y
        return context.ops.mean(off * off, axis=None, keepdims=False)

    return loss


def train(context: ArrayContext, parts: dict[str, Any], x: Any, y: Any, dtype: str) -> Any:
    """Plain gradient descent on the adapters, in the framework; the losses. The frozen weights must stay as they were."""
    np = context.np
    frozen = {name: context.put(part) for name, part in parts.items() if name not in ADAPTERS}
    adapters = [context.put(parts[name]) for name in ADAPTERS]
    data, losses, one = [context.put(x), context.put(y)], [], context.put(np.float32(1.0))
    step = context.compiled(loss_of(context, frozen, dtype))
    for _ in range(STEPS):
        loss, gradients = step([*adapters, *data], one)
        losses.append(float(context.get(loss)))
        adapters = [adapter - np.float32(RATE) * gradient for adapter, gradient in zip(adapters, gradients)]
    for name, gradient in zip(ADAPTERS, gradients):
        sound(context, name, context.get(gradient))
    for name, part in frozen.items():
        if not np.array_equal(context.get(part), parts[name]):
            raise Wrong("base-changed", f"the frozen weight {name} changed")
    return np.array(losses)


def sound(context: ArrayContext, name: str, gradient: Any) -> None:
    """The gradient of an adapter is finite and not all zero."""
    if not context.np.isfinite(gradient).all():
        raise Wrong("nan", f"the gradient of {name} is not finite")
    if not gradient.any():
        raise Wrong("zeros", f"the gradient of {name} is all zero")


def reference(context: ArrayContext, parts: dict[str, Any], x: Any, y: Any) -> Any:
    """The losses in float64."""
    parts, losses = {name: wide(context, part) for name, part in parts.items()}, []
    for _ in range(STEPS):
        loss, gradients = context.references.lora_step(parts, wide(context, x), wide(context, y))
        losses.append(loss)
        parts.update({name: parts[name] - RATE * gradients[name] for name in ADAPTERS})
    if not losses[-1] < losses[0]:
        raise Wrong("no-progress", f"the loss went from {losses[0]:.4g} to {losses[-1]:.4g}")
    return context.np.array(losses)
