"""LoRA steps of a small decoder in plain torch: pre-norm, causal attention, a gated MLP."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from ..smoke.on_torch import TorchContext
from .timing import rate, try_figure

SIZES = {"layers": 4, "hidden": 2048, "heads": 16, "inner": 5632, "vocabulary": 32000, "length": 1024, "batch": 4}
CPU_SIZES = {"layers": 1, "hidden": 64, "heads": 2, "inner": 128, "vocabulary": 256, "length": 64, "batch": 2}
RANK = 16
LIGHT = 4 << 30
"""Bytes of free memory below which the batch is one."""


def train(context: TorchContext) -> dict[str, Any]:
    """`train-lora` in tokens/s, in bfloat16."""
    missing: dict[str, str] = {}
    figures = try_figure(missing, "train-lora", partial(steps, context))
    for one in figures:
        context.keep("consumption", partial(one.get, "value"))
    return {"figures": figures, "missing": missing}


def sizes(context: TorchContext) -> dict[str, int]:
    """The model and the batch; a batch of one where memory is short."""
    if not context.on_gpu:
        return CPU_SIZES
    free = torch.cuda.mem_get_info(context.device)[0]
    return SIZES if free > LIGHT else dict(SIZES, batch=1)


def steps(context: TorchContext) -> dict[str, Any]:
    """Forward and backward pass, and plain gradient descent on the adapters."""
    size = sizes(context)
    with context.device:
        model = decoder(size).to(torch.bfloat16)
    trained = [p for p in model.parameters() if p.requires_grad]
    ids = torch.randint(0, size["vocabulary"], (size["batch"], size["length"]), device=context.device)

    def action() -> None:
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        with torch.no_grad():
            torch._foreach_add_(trained, [p.grad for p in trained], alpha=-1e-4)
        model.zero_grad(set_to_none=True)

    tokens = size["batch"] * size["length"]
    about = dict(size, rank=RANK, parameters=sum(p.numel() for p in model.parameters()), dtype="bfloat16")
    return rate(context, "train-lora", "tokens/s", action, tokens, about)


def decoder(size: dict[str, int]) -> Any:
    """The model: everything is frozen but the low-rank adapters of its linear layers and the norms."""
    layers = [Layer(size) for _ in range(size["layers"])]
    head = nn.Linear(size["hidden"], size["vocabulary"], bias=False).requires_grad_(False)
    return nn.Sequential(nn.Embedding(size["vocabulary"], size["hidden"]).requires_grad_(False), *layers, head)


class Linear(nn.Module):
    """A frozen linear layer with an adapter."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False).requires_grad_(False)
        self.down = nn.Linear(inputs, RANK, bias=False)
        self.up = nn.Linear(RANK, outputs, bias=False)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.up(self.down(x))


class Layer(nn.Module):
    """One layer."""

    def __init__(self, size: dict[str, int]) -> None:
        super().__init__()
        hidden, inner = size["hidden"], size["inner"]
        self.heads = size["heads"]
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = Linear(hidden, 3 * hidden), Linear(hidden, hidden)
        self.gate, self.up, self.down = Linear(hidden, inner), Linear(hidden, inner), Linear(inner, hidden)

    def forward(self, x: Any) -> Any:
        batch, length, hidden = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, hidden))
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
