"""Does a DataLoader deliver tokens as fast as the training step takes them?"""

from __future__ import annotations

import time
from typing import Any

from ..smoke.context import StageContext
from .timing import QUICK, figure, significant

ROWS, LENGTH, BATCH = 2048, 1024, 8
CPU_ROWS = 128
WORKERS = 2
SECONDS = {QUICK: 0.6, 2: 2.0}
"""Seconds of one number of workers."""
LEAST = 5


def loader(context: StageContext) -> dict[str, Any]:
    """`loader`: tokens/s of the faster of 0 and 2 workers; speed.loader-share: that against the tokens of `train-lora`."""
    rows = dataset(context)
    found = [batches(context, rows, workers) for workers in (0, WORKERS)]
    best = max(found, key=lambda one: one["value"])
    best["detail"]["by_workers"] = {str(one["detail"]["workers"]): one["value"] for one in found}
    used = context.keep("consumption", lambda: None)
    facts = {} if not used else {"speed.loader-share": significant(best["value"] / used)}
    return {"figures": [best], "facts": facts}


def dataset(context: StageContext) -> Any:
    """Rows of token ids of unequal length, which the collator pads: what a fine-tuning set looks like after tokenising."""
    torch = context.torch
    many = ROWS if context.on_gpu else CPU_ROWS
    lengths = torch.randint(LENGTH // 2, LENGTH, (many,), generator=context.generator).tolist()
    return [torch.randint(0, 32000, (length,), generator=context.generator) for length in lengths]


def collate(rows: list[Any]) -> Any:
    """The rows padded to one length."""
    import torch

    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=0)


def batches(context: StageContext, rows: Any, workers: int) -> dict[str, Any]:
    """Tokens per second of each batch over some epochs, from request to arrival on the device."""
    context.doing(f"DataLoader with {workers} workers")
    samples: list[float] = []
    until = time.perf_counter() + SECONDS[context.level]
    while time.perf_counter() < until or len(samples) < LEAST:
        samples += epoch(context, rows, workers, until)
    return figure("loader", "tokens/s", samples, {"workers": workers, "batch": BATCH, "length": LENGTH}, {})


def epoch(context: StageContext, rows: Any, workers: int, until: float) -> list[float]:
    """Samples of eight batches each; the first batch, which waits for the workers to start, does not count."""
    source = context.torch.utils.data.DataLoader(
        rows, batch_size=BATCH, num_workers=workers, collate_fn=collate, pin_memory=context.on_gpu, timeout=30 if workers else 0
    )
    found, tokens = [], 0
    began = 0.0
    for number, batch in enumerate(source):
        batch.to(context.device, non_blocking=context.on_gpu)
        if number == 0:
            began = time.perf_counter()
            continue
        tokens += batch.numel()
        if number % 8 == 0:
            now = time.perf_counter()
            found.append(tokens / (now - began))
            began, tokens = now, 0
            if now > until and len(found) >= LEAST:
                break
    return found
