"""Does a DataLoader deliver tokens as fast as the training step takes them?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from ..smoke.on_torch import TorchContext
from .timing import QUICK, figure

ROWS, LENGTH, BATCH = 2048, 1024, 8
CPU_ROWS = 128
WORKERS = 2
ABOUT = {"batch": BATCH, "length": LENGTH}
SECONDS = {QUICK: 0.5, 2: 2.0}
"""Seconds of the measurement with workers."""
LEAST = 5


def faster(context: TorchContext, alone: list[dict[str, Any]]) -> dict[str, Any]:
    """`loader`: tokens/s of the faster of 0 workers, measured before, and 2 workers."""
    found = [*alone, with_workers(context, dataset(context))]
    best = max(found, key=lambda one: float(one["value"]))
    best["detail"]["by_workers"] = {str(one["detail"]["workers"]): one["value"] for one in found}
    return best


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


def source(context: TorchContext, rows: Any, workers: int) -> Any:
    """The DataLoader."""
    return context.torch.utils.data.DataLoader(
        rows, batch_size=BATCH, num_workers=workers, collate_fn=collate, pin_memory=context.on_gpu, timeout=30 if workers else 0
    )


def alone(context: TorchContext, rows: Any, seconds: float) -> Callable[[], float]:
    """A sample without workers: tokens per second of whole batches over at least so many seconds, from request to arrival."""
    batches = endless(context, rows)

    def sample() -> float:
        context.sync()
        tokens, began = 0, time.perf_counter()
        while time.perf_counter() < began + seconds:
            tokens += next(batches).to(context.device, non_blocking=context.on_gpu).numel()
        context.sync()
        return tokens / (time.perf_counter() - began)

    sample()
    return sample


def endless(context: TorchContext, rows: Any) -> Iterator[Any]:
    """Batches of one epoch after the other."""
    while True:
        yield from source(context, rows, 0)


def with_workers(context: TorchContext, rows: Any) -> dict[str, Any]:
    """The figure with workers: the median over some epochs."""
    context.doing(f"DataLoader with {WORKERS} workers")
    samples: list[float] = []
    until = time.perf_counter() + SECONDS[context.level]
    while time.perf_counter() < until or len(samples) < LEAST:
        samples += epoch(context, rows, until)
    return figure("loader", "tokens/s", samples, {"workers": WORKERS, **ABOUT}, {})


def epoch(context: TorchContext, rows: Any, until: float) -> list[float]:
    """Samples of eight batches each; the first batch, which waits for the workers to start, does not count."""
    found, tokens = [], 0
    began = 0.0
    for number, batch in enumerate(source(context, rows, WORKERS)):
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
