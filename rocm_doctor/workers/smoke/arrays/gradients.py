"""Gradients of the layers that training goes through, against float64. Allowed errors: see ../gradients.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..compare import tolerance
from ..gradients import CONVOLUTION_STEPS, FUNCTION_STEPS, STEPS
from .context import EPS, ArrayContext
from .products import wide


class Layer(NamedTuple):
    """`operands` by name, `apply` on them, `reference` on their float64 twins and the gradient of the result; the longest sum
    within the layer, and roundings beside the sums.
    """

    operands: dict[str, Any]
    apply: Callable[..., Any]
    reference: Callable[..., Any]
    length: int
    steps: float


def backward(context: ArrayContext) -> dict[str, Any]:
    """Result and gradient of every operand, for each layer by name."""
    worst = {}
    with context.precision("highest"):
        for name, layer in layers(context).items():
            context.doing(name + (": the first convolution may compile kernels for minutes" if "conv" in name else ""))
            worst[name] = one_layer(context, name, layer)
    return {"worst_error": worst}


def layers(context: ArrayContext) -> dict[str, Layer]:
    """Layer by name."""
    np, ops, right, random = context.np, context.ops, context.references, context.random
    words, targets = np.arange(512) * 7 % 100, np.arange(66) * 13 % 1000
    x, scale, shift = random(66, 320), random(320), random(320)

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        off = x - ops.mean(x, axis=-1, keepdims=True)
        return off * ops.rsqrt(ops.mean(off * off, axis=-1, keepdims=True) + 1e-6) * scale + shift

    def rms_norm(x: Any, scale: Any) -> Any:
        return x * ops.rsqrt(ops.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale

    dense = {"input": random(66, 256), "weight": random(256, 192), "bias": random(192)}
    image = {"input": random(4, 33, 31, 8), "weight": random(3, 3, 8, 16)}
    return {
        "linear": Layer(dense, lambda x, w, b: x @ w + b, right.linear, 256, STEPS),
        "embedding": Layer(
            {"weight": random(100, 64)}, lambda t: ops.take(t, words), lambda t, pull: right.embedding(t, words, pull), 512, STEPS
        ),
        "layer norm": Layer({"input": x, "scale": scale, "shift": shift}, layer_norm, right.layer_norm, 320, STEPS),
        "rms norm": Layer({"input": x, "scale": scale}, rms_norm, right.rms_norm, 320, STEPS),
        "gelu": Layer({"input": x}, ops.gelu, right.gelu, 1, FUNCTION_STEPS),
        "silu": Layer({"input": x}, ops.silu, right.silu, 1, FUNCTION_STEPS),
        "cross entropy": Layer(
            {"input": random(66, 1000)},
            lambda x: ops.cross_entropy(x, targets),
            lambda x, pull: right.cross_entropy(x, targets, pull),
            1000,
            STEPS,
        ),
        "conv2d": Layer(image, ops.conv2d, right.conv2d, 4096, CONVOLUTION_STEPS),
    }


def one_layer(context: ArrayContext, name: str, layer: Layer) -> float:
    """Result and gradients of one layer, compared with float64."""
    values = list(layer.operands.values())
    there = [context.put(value) for value in values]
    pull = context.random(*layer.apply(*there).shape)
    result, gradients = context.gradients(layer.apply, there, context.put(pull))
    want, wanted = layer.reference(*(wide(context, value) for value in values), wide(context, pull))
    allowed = tolerance(EPS["float32"], layer.length, layer.steps)
    pairs = [("result", result, want)]
    pairs += [(f"gradient of {part}", got, right) for part, got, right in zip(layer.operands, gradients, wanted)]
    return max(context.check(f"{name}, {part}", got, right, allowed) for part, got, right in pairs)
