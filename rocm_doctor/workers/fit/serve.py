"""Generation on the GPU as transformers does it, and the allocator's figures: a prompt, then tokens one at a time."""

from __future__ import annotations

import time
from typing import Any

import torch

from . import build
from .measure import context, fill, target, warm_up
from .progress import tell
from .quant import quantise

NEW = 8
"""Tokens generated; the cache has its full length after the last."""


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Generate for `batch` sequences until each is `seq` tokens long. Returns bytes, as `measure.measure` does."""
    job = dict(job, device="cuda", kbit_prepare=False)
    torch.manual_seed(0)
    tell("starting the GPU's runtime", always=True)
    warm_up()
    tell("building the model on the GPU", always=True)
    model = build.base_model(job, "cuda")
    if job["quant_bits"]:
        quantise(model, job)
    tell("filling the weights", always=True)
    fill(model)
    model.eval()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    base = torch.cuda.memory_allocated()
    ids = torch.randint(0, model.config.vocab_size, (job["batch"], job["seq"] - NEW), device="cuda")
    tell(f"a prompt of {job['seq'] - NEW} tokens for each of {job['batch']} sequences, and {NEW} new tokens", always=True)
    started = time.time()
    with torch.inference_mode():
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False, use_cache=True
        )
    torch.cuda.synchronize()
    return {
        "params": sum(p.numel() for p in model.parameters()),
        "trainable": 0,
        "weight_bytes": base,
        "base_bytes": base,
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "step_s": (time.time() - started) / NEW,
        "loss": float(out.shape[1]),
        "device": torch.cuda.get_device_name(),
        "context_bytes": context(),
        "gfx": target(),
        "total_bytes": torch.cuda.mem_get_info()[1],
    }
