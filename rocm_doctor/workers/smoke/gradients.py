"""Gradients of the layers that fine-tuning goes through, against float64 on the CPU.

gfx1033 passes every forward test and trains wrongly: the same seed gives a loss of 0.11 on the CPU and NaN on the GPU, and
gradcheck fails even in float64 (measured by a maintainer in unslothai/unsloth#8412). Hence every gradient is compared, not only
results.

**Tolerances** (fp32): a layer and its backward pass round each value at most 8 times apart from the sums (normalisation: mean,
difference, variance, root, quotient, scale, and twice more on the way back). Convolutions may use Winograd's algorithm, whose
transforms of 4 x 4 tiles lose up to two decimal digits (Lavin and Gray, "Fast algorithms for convolutional neural networks",
2016): 128 roundings. GELU and SiLU go through erf and exp, for which the OpenCL C specification (relative error of math
functions) allows 16 and 3 units in the last place: 32 roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .compare import tolerance
from .context import EPS, Context

STEPS, FUNCTION_STEPS, CONVOLUTION_STEPS = 8, 32, 128


class Layer(NamedTuple):
    """`operands` by name, `apply` on them; the longest sum within the layer, and roundings beside the sums."""

    operands: dict[str, Any]
    apply: Callable[..., Any]
    length: int = 1
    steps: float = STEPS


def backward(context: Context) -> dict[str, Any]:
    """The worst error of the result and the gradients, for each layer by name."""
    worst = {}
    with context.full_precision():
        for name, layer in layers(context).items():
            context.report(name + (": the first convolution may compile kernels for minutes" if "conv" in name else ""))
            worst[name] = compare_layer(context, name, layer)
    return {"worst_error": worst}


def layers(context: Context) -> dict[str, Layer]:
    """Layer by name."""
    ops, random = context.ops, context.random
    words, targets = [n * 7 % 100 for n in range(512)], [n * 13 % 1000 for n in range(66)]
    x, scale, shift = random(66, 320), random(320), random(320)
    image, kernel = ops.image
    return {
        "linear": Layer(
            {"input": random(66, 256), "weight": random(256, 192), "bias": random(192)}, lambda x, w, b: x @ w + b, 256
        ),
        "embedding": Layer({"weight": random(100, 64)}, lambda table: ops.take(table, words), 512),
        "layer norm": Layer({"input": x, "scale": scale, "shift": shift}, ops.layer_norm, 320),
        "rms norm": Layer({"input": x, "scale": scale}, ops.rms_norm, 320),
        "gelu": Layer({"input": x}, ops.gelu, steps=FUNCTION_STEPS),
        "silu": Layer({"input": x}, ops.silu, steps=FUNCTION_STEPS),
        "cross entropy": Layer({"input": random(66, 1000)}, lambda x: ops.cross_entropy(x, targets), 1000),
        "conv2d": Layer({"input": random(*image), "weight": random(*kernel)}, ops.conv2d, 4096, CONVOLUTION_STEPS),
    }


def compare_layer(context: Context, name: str, layer: Layer) -> float:
    """The worst error of the result and the gradients of one layer."""
    values = list(layer.operands.values())
    with context.use_float64():
        shape = layer.apply(*map(context.widen, values)).shape
    pull = context.random(*shape)
    result, gradients = context.gradients(layer.apply, [context.put(value) for value in values], context.put(pull))
    want, wanted = context.exact_gradients(layer.apply, values, pull)
    allowed = tolerance(EPS["float32"], layer.length, layer.steps)
    pairs = [(f"gradient of {part}", got, right) for part, got, right in zip(layer.operands, gradients, wanted)]
    return max(context.check(f"{name}, {part}", got, right, allowed) for part, got, right in [*pairs, ("result", result, want)])
