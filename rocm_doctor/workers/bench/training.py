"""Training steps of a small decoder in plain torch: LoRA on frozen weights, and all weights with AdamW."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ..smoke.on_torch import TorchContext
from .decoder import decoder
from .timing import rate, tried

SIZES = {"layers": 4, "hidden": 2048, "heads": 16, "inner": 5632, "vocabulary": 32000, "length": 1024, "batch": 4}
CPU_SIZES = {"layers": 1, "hidden": 64, "heads": 2, "inner": 128, "vocabulary": 256, "length": 64, "batch": 2}
RANK = 16
LIGHT = 4 << 30
"""Bytes of free memory below which the batch is one."""


def train(context: TorchContext) -> dict[str, Any]:
    """`train-lora` and `train-full` in tokens/s, in bfloat16."""
    missing: dict[str, str] = {}
    figures = []
    for method in ("lora", "full"):
        figures += tried(missing, f"train-{method}", partial(steps, context, method))
    for one in figures:
        if one["name"] == "train-lora":
            context.keep("consumption", partial(one.get, "value"))
    return {"figures": figures, "missing": missing}


def sizes(context: TorchContext) -> dict[str, int]:
    """The model and the batch; a batch of one where memory is short."""
    if not context.on_gpu:
        return CPU_SIZES
    free = context.torch.cuda.mem_get_info(context.device)[0]
    return SIZES if free > LIGHT else dict(SIZES, batch=1)


def steps(context: TorchContext, method: str) -> dict[str, Any]:
    """Training steps with one method."""
    torch, size = context.torch, sizes(context)
    with context.device:
        model = decoder(size, RANK if method == "lora" else 0).to(torch.bfloat16)
    trained = [p for p in model.parameters() if p.requires_grad]
    update = adamw(context, trained)
    ids = torch.randint(0, size["vocabulary"], (size["batch"], size["length"]), device=context.device)

    def action() -> None:
        logits = model(ids)
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        update()
        model.zero_grad(set_to_none=True)

    tokens = size["batch"] * size["length"]
    about = dict(size, method=method, parameters=sum(p.numel() for p in model.parameters()), dtype="bfloat16")
    return rate(context, f"train-{method}", "tokens/s", action, tokens, about)


def adamw(context: TorchContext, trained: list[Any]) -> Callable[[], None]:
    """A step of AdamW by torch's function: the class imports torch.compile's machinery, which takes seconds."""
    torch = context.torch
    function = importlib.import_module("torch.optim.adamw").adamw
    first, second = ([torch.zeros_like(p) for p in trained] for _ in range(2))
    counts = [torch.zeros((), dtype=torch.float32, device=context.device) for _ in trained]
    options = {"fused": context.on_gpu, "amsgrad": False, "maximize": False, "lr": 1e-4, "weight_decay": 0.01, "eps": 1e-8}

    def update() -> None:
        with torch.no_grad():
            grads = [p.grad for p in trained]
            function(trained, grads, first, second, [], counts, beta1=0.9, beta2=0.999, foreach=not context.on_gpu, **options)

    return update
