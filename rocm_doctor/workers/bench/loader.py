"""Does a DataLoader deliver tokens as fast as the training step takes them?"""

from __future__ import annotations

import time
from typing import Any

from ..smoke.on_torch import TorchContext
from .timing import QUICK, figure, round_to_five

ROWS, LENGTH, BATCH = 2048, 1024, 8
CPU_ROWS = 128
WORKERS = (0, 2)
SECONDS = {QUICK: 0.5, 2: 2.0}
"""Seconds of the measurement with one number of workers."""
LEAST = 5


def loader(context: TorchContext) -> dict[str, Any]:
    """`loader`: tokens/s of the faster of 0 and 2 workers; speed.loader-share: that over what a LoRA step takes."""
    rows = dataset(context)
    found = {workers: samples_of(context, rows, workers) for workers in WORKERS}
    values = {workers: sorted(samples)[len(samples) // 2] for workers, samples in found.items()}
    best = max(values, key=lambda workers: values[workers])
    detail = {"workers": best, "batch": BATCH, "length": LENGTH, "by_workers": {str(n): round(v) for n, v in values.items()}}
    used = context.keep("consumption", lambda: None)
    facts = {"speed.loader-share": round_to_five(values[best] / used)} if used else {}
    return {"figures": [figure("loader", "tokens/s", found[best], detail, {})], "facts": facts}


def dataset(context: TorchContext) -> Any:
    """Rows of token ids of unequal length, which the collator pads: what a fine-tuning set looks like after tokenizing."""
    torch = context.torch
    many = ROWS if context.on_gpu else CPU_ROWS
    lengths = torch.randint(LENGTH // 2, LENGTH, (many,), generator=context.generator).tolist()
    return [torch.randint(0, 32000, (length,), generator=context.generator) for length in lengths]


def collate(rows: list[Any]) -> Any:
    """The rows padded to one length."""
    import torch

    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=0)


def samples_of(context: TorchContext, rows: Any, workers: int) -> list[float]:
    """Tokens per second of eight batches each, from request to arrival, over some epochs."""
    context.report(f"DataLoader with {workers} workers")
    found: list[float] = []
    until = time.perf_counter() + SECONDS[context.level]
    options = {"collate_fn": collate, "pin_memory": context.on_gpu, "timeout": 30 if workers else 0}
    batches = context.torch.utils.data.DataLoader(rows, batch_size=BATCH, num_workers=workers, **options)
    while len(found) < LEAST or time.perf_counter() < until:
        tokens, began = 0, 0.0
        for number, batch in enumerate(batches):
            arrived = batch.to(context.device, non_blocking=context.on_gpu)
            if number == 0:  # it waits for the workers to start
                began = time.perf_counter()
                continue
            tokens += arrived.numel()
            if number % 8 == 0:
                context.sync()
                now = time.perf_counter()
                found.append(tokens / (now - began))
                tokens, began = 0, now
                if now > until and len(found) >= LEAST:
                    break
    return found
