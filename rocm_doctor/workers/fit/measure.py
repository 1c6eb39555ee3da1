"""Real training steps on the GPU, and the allocator's figures."""

from __future__ import annotations

import time
from typing import Any

import torch

from . import build
from .step import loss_of

STEPS = 3


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Run `STEPS` steps. Returns bytes: weight_bytes, base_bytes, peak_allocated, peak_reserved; device names the GPU."""
    job = dict(job, device="cuda")
    torch.manual_seed(0)
    warm_up()
    model = build.build_model(job, "cuda")
    fill(model)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    base = torch.cuda.memory_allocated()
    optimizer = build.build_optimizer(model, job)
    seconds, loss = [], 0.0
    for _ in range(STEPS):
        started = time.time()
        loss = step(model, optimizer, job)
        seconds.append(time.time() - started)
    return {
        "params": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "weight_bytes": sum(
            p.numel() * p.element_size() for p in model.parameters() if not p.requires_grad or job["method"] == "full"
        ),
        "base_bytes": base,
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "step_s": min(seconds),
        "loss": loss,
        "device": torch.cuda.get_device_name(),
        "context_bytes": context(),
        "gfx": target(),
        "total_bytes": torch.cuda.mem_get_info()[1],
    }


def warm_up() -> None:
    """Make the BLAS workspaces of both threads (forward, backward), so that they do not pass for the model's memory."""
    x = torch.ones((64, 64), device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    torch.cuda.synchronize()


def fill(model: Any) -> None:
    """Small random weights: uninitialised memory could hold NaN and, on some GPUs, runs at another speed."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not hasattr(parameter, "quant_state"):
                parameter.normal_(0.0, 0.02)


def step(model: Any, optimizer: Any, job: dict[str, Any]) -> float:
    """One training step with all its micro-batches; returns the loss."""
    total = 0.0
    for _ in range(job["grad_accum"]):
        ids = torch.randint(0, model.config.vocab_size, (job["batch"], job["seq"]), device="cuda")
        loss = loss_of(model, ids, job)
        loss.backward()
        total = loss.detach()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return float(total)


def target() -> str:
    """gfx906 on AMD, sm_90 on NVIDIA."""
    if torch.version.hip:
        return str(torch.cuda.get_device_properties(0).gcnArchName).split(":")[0]
    return "sm_{}{}".format(*torch.cuda.get_device_capability())


def context() -> int:
    """Bytes of the GPU that are in use but not this allocator's: the runtime's context, and other processes."""
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())
