"""The model of the training steps: a decoder with pre-norm, causal attention and a gated MLP."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def decoder(size: dict[str, int], rank: int) -> Any:
    """The model; with a rank, everything is frozen but the low-rank adapters of its linears."""
    layers = [Layer(size, rank) for _ in range(size["layers"])]
    head = nn.Linear(size["hidden"], size["vocabulary"], bias=False)
    model = nn.Sequential(nn.Embedding(size["vocabulary"], size["hidden"]), *layers, head)
    if rank:
        for part in (model[0], head):
            part.weight.requires_grad_(False)
    return model


class Linear(nn.Module):
    """A linear layer; with a rank it is frozen and has an adapter."""

    def __init__(self, inputs: int, outputs: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False)
        self.rank = rank
        if rank:
            self.base.weight.requires_grad_(False)
            self.down = nn.Linear(inputs, rank, bias=False)
            self.up = nn.Linear(rank, outputs, bias=False)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.up(self.down(x)) if self.rank else self.base(x)


class Layer(nn.Module):
    """One layer."""

    def __init__(self, size: dict[str, int], rank: int) -> None:
        super().__init__()
        hidden, inner = size["hidden"], size["inner"]
        self.heads = size["heads"]
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = Linear(hidden, 3 * hidden, rank), Linear(hidden, hidden, rank)
        self.gate, self.up, self.down = Linear(hidden, inner, rank), Linear(hidden, inner, rank), Linear(inner, hidden, rank)

    def forward(self, x: Any) -> Any:
        batch, length, hidden = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, hidden))
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
