"""Training steps of a small transformer in plain torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from ..smoke.on_torch import TorchContext
from .timing import rate, try_figure

SIZES = {"layers": 4, "hidden": 2048, "heads": 16, "inner": 5632, "vocabulary": 32000, "length": 1024, "batch": 4}
CPU_SIZES = {"layers": 1, "hidden": 64, "heads": 2, "inner": 128, "vocabulary": 256, "length": 64, "batch": 2}
LIGHT = 8 << 30
"""Bytes of free memory below which the batch is one."""


def train(context: TorchContext) -> dict[str, Any]:
    """`train-step` in tokens/s, in bfloat16."""
    missing: dict[str, str] = {}
    return {"figures": try_figure(missing, "train-step", partial(steps, context)), "missing": missing}


def sizes(context: TorchContext) -> dict[str, int]:
    """The model and the batch; a batch of one where memory is short."""
    if not context.on_gpu:
        return CPU_SIZES
    free = torch.cuda.mem_get_info(context.device)[0]
    return SIZES if free > LIGHT else dict(SIZES, batch=1)


def steps(context: TorchContext) -> dict[str, Any]:
    """Forward and backward pass, and plain gradient descent on every weight."""
    size = sizes(context)
    where: dict[str, Any] = {"device": context.device, "dtype": torch.bfloat16}
    shape = size["hidden"], size["heads"], size["inner"]
    layers = [
        nn.TransformerEncoderLayer(*shape, dropout=0.0, batch_first=True, norm_first=True, **where) for _ in range(size["layers"])
    ]
    ends = nn.Embedding(size["vocabulary"], size["hidden"], **where), nn.Linear(size["hidden"], size["vocabulary"], **where)
    model = nn.Sequential(ends[0], *layers, ends[1])
    trained = list(model.parameters())
    ids = torch.randint(0, size["vocabulary"], (size["batch"], size["length"]), device=context.device)

    def action() -> None:
        nn.functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten()).backward()
        with torch.no_grad():
            torch._foreach_add_(trained, [p.grad for p in trained], alpha=-1e-4)
        model.zero_grad(set_to_none=True)

    about = dict(size, parameters=sum(p.numel() for p in trained), dtype="bfloat16")
    return rate(context, "train-step", "tokens/s", action, size["batch"] * size["length"], about)
