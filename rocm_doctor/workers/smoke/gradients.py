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

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .compare import check, tolerance
from .context import StageContext
from .products import precision

STEPS, FUNCTION_STEPS, CONVOLUTION_STEPS = 8, 32, 128


def backward(context: StageContext) -> dict[str, Any]:
    """Result, gradient of the input and of every parameter, for each layer by name."""
    torch = context.torch
    torch.backends.cudnn.allow_tf32 = False
    worst = {}
    with precision(torch, "highest"):
        for name, (build, length, steps) in layers(torch).items():
            context.doing(name + (": the first convolution may compile kernels for minutes" if "conv" in name else ""))
            worst[name] = one_layer(context, name, build, tolerance(torch.finfo(torch.float32).eps, length, steps))
    return {"worst_error": worst}


if TYPE_CHECKING:
    Builder = Callable[[StageContext], tuple[Any, Any]]


def layers(torch: Any) -> dict[str, tuple[Builder, int, float]]:
    """Layer -> how to build it and its input, the longest sum within it, roundings beside the sums."""
    nn = torch.nn
    table: dict[str, tuple[Builder, int, float]] = {
        "linear": (lambda context: (nn.Linear(256, 192), context.random(66, 256)), 256, STEPS),
        "embedding": (lambda context: (nn.Embedding(100, 64), context.torch.arange(512) * 7 % 100), 512, STEPS),
        "layer norm": (lambda context: (nn.LayerNorm(320), context.random(66, 320)), 320, STEPS),
        "rms norm": (lambda context: (rms_norm(torch, 320), context.random(66, 320)), 320, STEPS),
        "gelu": (lambda context: (nn.GELU(), context.random(66, 320)), 1, FUNCTION_STEPS),
        "silu": (lambda context: (nn.SiLU(), context.random(66, 320)), 1, FUNCTION_STEPS),
        "cross entropy": (lambda context: (cross_entropy(torch), context.random(66, 1000)), 1000, STEPS),
        "conv1d": (lambda context: (nn.Conv1d(16, 24, 3, padding=1), context.random(4, 16, 65)), 260, CONVOLUTION_STEPS),
        "conv2d": (lambda context: (nn.Conv2d(8, 16, 3, padding=1), context.random(4, 8, 33, 31)), 4096, CONVOLUTION_STEPS),
    }
    return table


def rms_norm(torch: Any, width: int) -> Any:
    """RMS normalisation."""
    if hasattr(torch.nn, "RMSNorm"):
        return torch.nn.RMSNorm(width, eps=1e-6)

    class RMSNorm(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(width))

        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    return RMSNorm()


def cross_entropy(torch: Any) -> Any:
    """Softmax cross entropy per row, with the targets as part of the layer."""

    class CrossEntropy(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            targets = torch.arange(len(x), device=x.device) * 13 % x.shape[1]
            return torch.nn.functional.cross_entropy(x, targets, reduction="none")

    return CrossEntropy()


def one_layer(context: StageContext, name: str, build: Builder, allowed: float) -> float:
    """Gradients of one layer, compared with float64."""
    torch = context.torch
    torch.manual_seed(20)
    module, values = build(context)
    there = copy.deepcopy(module).to(context.device)
    with torch.no_grad():
        like = module(values)
    pull = context.random(*like.shape)
    want = passes(module.double(), values if name == "embedding" else values.double(), pull.double())
    got = passes(there, context.put(values), context.put(pull))
    return max(check(torch, f"{name}, {part}", got[part], want[part], allowed) for part in want)


def passes(module: Any, values: Any, pull: Any) -> dict[str, Any]:
    """Forward and backward; every tensor that comes of it, by name."""
    if values.is_floating_point():
        values.requires_grad_(True)
    result = module(values)
    result.backward(pull)
    named = {"gradient of " + key: value.grad for key, value in module.named_parameters()}
    if values.grad is not None:
        named["gradient of the input"] = values.grad
    return dict(named, result=result)
