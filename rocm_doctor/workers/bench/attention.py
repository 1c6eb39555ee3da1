"""Attention forward and backward, by the path that torch takes and by each path that it has."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from ..smoke.on_torch import TorchContext, only_backend
from .timing import rate, ratio, try_figure

HEADS, LENGTH, WIDTH = 16, 4096, 64
CPU_HEADS, CPU_LENGTH = 2, 256
BATCH = 4
CHOICES = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}
"""Values of torch.nn.attention.SDPBackend, as `_fused_sdp_choice` returns them."""


def attention(context: TorchContext) -> dict[str, Any]:
    """`attention-forward`, `attention-backward`: causal bf16, as torch chooses; `attention-<path>-forward` for each path."""
    figures: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    q, k, v = operands(context)
    figures += try_figure(missing, "attention-forward", partial(forward, context, "attention-forward", q, k, v))
    figures += try_figure(missing, "attention-backward", partial(backward, context, "attention-backward", q, k, v))
    for path in ("math", "flash", "efficient") if context.on_gpu else ("math",):
        name = f"attention-{path}-forward"
        figures += try_figure(missing, name, partial(forward, context, name, q, k, v, path))
    facts = {"speed.attention": usual_path(context, q, k, v), "speed.attention-gain": gain(figures)}
    return {"figures": figures, "facts": {k: v for k, v in facts.items() if v}, "missing": missing}


def operands(context: TorchContext) -> list[Any]:
    """Queries, keys and values in bfloat16."""
    torch = context.torch
    shape = (BATCH, HEADS, LENGTH, WIDTH) if context.on_gpu else (1, CPU_HEADS, CPU_LENGTH, WIDTH)
    dtype = torch.bfloat16
    return [torch.randn(shape, device=context.device, dtype=dtype).requires_grad_(True) for _ in range(3)]


def work(shape: Any) -> float:
    """Operations of a causal forward pass, in TFLOP: two products over half of the pairs."""
    batch, heads, length, width = shape
    return float(2 * 2.0 * batch * heads * length * length * width / 2 / 1e12)


def call(context: TorchContext, q: Any, k: Any, v: Any) -> Any:
    """Causal attention."""
    return context.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def forward(context: TorchContext, name: str, q: Any, k: Any, v: Any, path: str = "") -> dict[str, Any]:
    """The forward pass by one path, or as torch chooses."""
    torch = context.torch

    def action() -> None:
        with torch.no_grad(), only_backend(torch, path) if path else contextlib.nullcontext():
            call(context, q, k, v)

    return rate(context, name, "TFLOP/s", action, work(q.shape), describe(q, path))


def backward(context: TorchContext, name: str, q: Any, k: Any, v: Any) -> dict[str, Any]:
    """The backward pass alone, of one forward pass whose graph is kept: five products where forward has two."""
    out = call(context, q, k, v)
    grad = context.torch.randn_like(out)
    action = partial(context.torch.autograd.grad, out, (q, k, v), grad, retain_graph=True)
    return rate(context, name, "TFLOP/s", action, 2.5 * work(q.shape), describe(q, ""))


def describe(q: Any, path: str) -> dict[str, Any]:
    """What was measured, for the detail of a figure."""
    return {"shape": list(q.shape), "dtype": "bfloat16", "causal": True, "path": path or "as torch chooses"}


def usual_path(context: TorchContext, q: Any, k: Any, v: Any) -> str:
    """The path that torch takes by itself; empty where it does not say."""
    choice = getattr(context.torch, "_fused_sdp_choice", None)
    if choice is None:
        return ""
    return CHOICES.get(int(choice(q, k, v, None, 0.0, True)), "another")


def gain(figures: list[dict[str, Any]]) -> float | None:
    """The rate of the fastest path's forward pass, divided by that of the usual path; None if no path was measured."""
    paths = [figure["name"] for figure in figures if figure["name"].count("-") == 2]
    ratios = [ratio(figures, name, "attention-forward") for name in paths]
    return max((one for one in ratios if one), default=None)
