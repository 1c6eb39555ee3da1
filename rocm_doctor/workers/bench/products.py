"""Matrix products by type: the best of a few square shapes, a shape of a training step, and the libraries against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..smoke import hip as smoke_hip
from ..smoke.context import temporary_setting
from ..smoke.on_torch import TorchContext
from . import hip
from .timing import BURSTS, burst, rate, ratio, try_figure

SQUARES = (2048, 4096, 8192)
"""Sides of the square products on a GPU."""
CPU_SQUARES = (256, 512)
TRAINING = (4096, 4096, 14336)
"""Tokens, inputs and outputs of a wide layer of an 8B model at 4096 tokens."""
CPU_TRAINING = (128, 256, 512)
LONGEST = 0.12
"""Seconds that one product may take: a slower one is measured at a smaller side."""

Make = Callable[[int, int, int], "Callable[[], Any]"]


def matmul(context: TorchContext) -> dict[str, Any]:
    """`matmul-<type>`: the best square shape, in bursts; `matmul-bf16-sustained`: the same without rests; `matmul-bf16-training`;
    the gain of the other library and of TunableOp."""
    figures: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    for name, dtype in (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")):
        if dtype == "float16" and not context.on_gpu:
            missing["matmul-fp16"] = "not measured on a CPU"
            continue
        make = plain_products(context, getattr(context.torch, dtype))
        figures += try_figure(missing, f"matmul-{name}", partial(best_square, context, name, make))
    side = next((figure["detail"]["shape"][0] for figure in figures if figure["name"] == "matmul-bf16"), 0)
    if side:
        figures += try_figure(missing, "matmul-bf16-sustained", partial(measure_sustained, context, side))
    figures += try_figure(missing, "matmul-bf16-training", partial(measure_training_shape, context, "matmul-bf16-training"))
    facts: dict[str, Any] = {
        "speed.bf16-gain": ratio(figures, "matmul-bf16", "matmul-fp32"),
        "speed.shape-gain": ratio(figures, "matmul-bf16", "matmul-bf16-training"),
    }
    facts.update(compare_libraries(context, figures, missing))
    if context.on_gpu and smoke_hip.is_hip(context.torch):
        facts.update(tunable_gain(context, missing))
    return {"figures": figures, "facts": {k: v for k, v in facts.items() if v is not None}, "missing": missing}


def plain_products(context: TorchContext, dtype: Any) -> Make:
    """A function make(m, k, n) that allocates operands of `dtype` on the context's device. It returns an action that computes the
    (m, k) x (k, n) product into the same output at each call. The second operand is stored as (n, k) and transposed, as in a
    linear layer."""

    def make(m: int, k: int, n: int) -> Callable[[], Any]:
        torch = context.torch
        a = torch.randn(m, k, device=context.device, dtype=dtype)
        b = torch.randn(n, k, device=context.device, dtype=dtype).t()
        out = torch.empty(m, n, device=context.device, dtype=dtype)
        return lambda: torch.mm(a, b, out=out)

    return make


def best_square(context: TorchContext, name: str, make: Make) -> dict[str, Any]:
    """The figure (TFLOP/s) of the fastest square shape. `detail.tried`: the rate by side; it ends before the first side whose
    product takes over LONGEST seconds."""
    tried: list[tuple[float, int]] = []
    for side in SQUARES if context.on_gpu else CPU_SQUARES:
        action = make(side, side, side)
        action()
        if tried and context.clock(action) > LONGEST:
            break
        tried.append((product(context, f"matmul-{name}", action, (side,) * 3, 1)["value"], side))
    side = max(tried)[1]
    best = product(context, f"matmul-{name}", make(side, side, side), (side,) * 3, BURSTS)
    best["detail"]["tried"] = {str(side): rate for rate, side in tried}
    return best


def measure_sustained(context: TorchContext, side: int) -> dict[str, Any]:
    """The best bf16 product without rests: what a training run gets."""
    action = plain_products(context, context.torch.bfloat16)(side, side, side)
    about = {"shape": [side] * 3, "library": library(context)}
    return rate(context, "matmul-bf16-sustained", "TFLOP/s", action, 2.0 * side**3 / 1e12, about)


def measure_training_shape(context: TorchContext, name: str) -> dict[str, Any]:
    """The figure `name`: TFLOP/s of the bf16 product of a training step, of the shape TRAINING. On a CPU the shape is
    CPU_TRAINING."""
    shape = TRAINING if context.on_gpu else CPU_TRAINING
    return product(context, name, plain_products(context, context.torch.bfloat16)(*shape), shape, BURSTS)


def product(context: TorchContext, name: str, action: Callable[[], Any], shape: Sequence[int], bursts: int) -> dict[str, Any]:
    """A figure of one product, in bursts."""
    m, k, n = shape
    about = {"shape": list(shape), "library": library(context)}
    return burst(context, name, "TFLOP/s", action, 2.0 * m * k * n / 1e12, about, bursts)


def library(context: TorchContext) -> str:
    """The BLAS library that torch prefers; empty where it does not say."""
    torch = context.torch
    if not context.on_gpu or not hasattr(torch.backends.cuda, "preferred_blas_library"):
        return ""
    word = str(torch.backends.cuda.preferred_blas_library()).rpartition(".")[2].lower()
    return hip.library_names(torch).get(word, word)


def compare_libraries(context: TorchContext, figures: list[dict[str, Any]], missing: dict[str, str]) -> dict[str, Any]:
    """The facts speed.blas (the preferred library), speed.blas-fastest, and speed.blas-gain (the fastest over the preferred one)."""
    torch = context.torch
    usual = [figure for figure in figures if figure["name"] == "matmul-bf16-training"]
    if not context.on_gpu or not smoke_hip.can_choose_blas(torch) or not usual:
        return {}
    prefer = torch.backends.cuda.preferred_blas_library
    before, values = prefer(), {}
    try:
        for word in ("cublas", "cublaslt"):
            prefer(word)
            for figure in try_figure(missing, f"matmul-{word}", partial(measure_training_shape, context, f"matmul-{word}")):
                values[hip.library_names(torch)[word]] = figure["value"]
    finally:
        prefer(before)
    if not values:
        return {}
    fastest = max(values, key=lambda library_name: values[library_name])
    gain = values[fastest] / usual[0]["value"]
    return {"speed.blas": library(context), "speed.blas-fastest": fastest, "speed.blas-gain": round(gain, 4)}


def tunable_gain(context: TorchContext, missing: dict[str, str]) -> dict[str, Any]:
    """The fact speed.tunable-gain: the rate at the training shape with TunableOp, divided by the rate without it. Afterwards TunableOp is on
    or off as before; nothing is written at the exit."""
    switch = context.torch.cuda.tunable
    switch.write_file_on_exit(False)
    duration = temporary_setting(switch.get_max_tuning_duration, switch.set_max_tuning_duration, 200)
    with temporary_setting(switch.is_enabled, switch.enable, False), duration:
        before = try_figure(missing, "matmul-untuned", partial(measure_training_shape, context, "matmul-untuned"))
        switch.enable(True)
        after = try_figure(missing, "matmul-tuned", partial(measure_training_shape, context, "matmul-tuned"))
    return {"speed.tunable-gain": round(after[0]["value"] / before[0]["value"], 4)} if before and after else {}
