"""Entry point: `main([asks, results, bytes, package ...])` measures every job that is appended to the first file and appends a line of JSON
for each. `bytes`: memory of the GPU that it may take, 0 for all; `package`: imported at the start.

The last line is `{"stop": true}`. A job is that of `fit`'s worker with `steps` and `device`; running out of memory is
a result, and the process goes on.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ..fit import build
from ..fit.loss import batch_loss
from ..smoke import hip
from ..smoke.main import emitter

WHOLE = 3
"""From so many steps on every micro-batch is run: shorter runs compare, longer ones give the figure."""
POLL = 0.02
"""Seconds between looks for a new job."""


def main(argv: list[str]) -> None:
    """Entry point of the worker."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    asks, results = Path(argv[0]), Path(argv[1])
    emit = emitter(str(results))
    emit(hello=describe_gpu(int(argv[2]), argv[3:]))
    for job in read_jobs(asks):
        emit(id=job["id"], **attempt(job))


def read_jobs(path: Path) -> Iterator[dict[str, Any]]:
    """The jobs of the file as they come, until one says stop."""
    with path.open(encoding="utf-8") as file:
        while True:
            line = file.readline()
            if not line.endswith("\n"):
                file.seek(file.tell() - len(line))
                time.sleep(POLL)
                continue
            job = json.loads(line)
            if job.get("stop"):
                return
            yield job


def describe_gpu(limit: int, packages: list[str]) -> dict[str, Any]:
    """The GPU and the packages. With a limit, this process may take that many bytes of the GPU's memory and no more."""
    for name in packages:  # slow to import: the first job must not pay for it
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    about = {"torch": torch.__version__, "device": "cpu"}
    if torch.cuda.is_available():
        total = torch.cuda.mem_get_info()[1]
        if limit:
            torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))
        warm_up()
        gfx = hip.architecture(torch, 0).partition(":")[0]
        about.update(device="cuda", name=torch.cuda.get_device_name(), gfx=gfx, total=total, context=context_bytes())
    return about


def warm_up() -> None:
    """Make the BLAS workspaces of both threads (forward, backward), so that they do not pass for the model's memory."""
    x = torch.ones((64, 64), device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    torch.cuda.synchronize()


def context_bytes() -> int:
    """Bytes of the GPU that are in use but not this allocator's: the runtime's context, and other processes."""
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())


def attempt(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, or `error` with the reason. Frees the memory that the job took."""
    try:
        result = measure(job)
    except Exception as error:
        full = "out of memory" in str(error).lower()
        result = {"error": "out of memory" if full else (type(error).__name__ + ": " + str(error))[:500]}
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return result


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Tokens per second over whole optimizer steps, and the memory in bytes that they took."""
    torch.manual_seed(0)
    on_gpu = job["device"] == "cuda"
    model = build.build_model(job, job["device"])
    fill(model)
    optimizer = build.build_optimizer(model, job)
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    step(model, optimizer, job, 1)
    few = 2 if job["steps"] < WHOLE else job["grad_accum"]
    seconds = [step(model, optimizer, job, few) for _ in range(job["steps"])]
    tokens = job["batch"] * job["seq"] * job["grad_accum"]
    return {
        "tokens_s": tokens / statistics.median(seconds),
        "samples": [tokens / one for one in seconds],
        "peak_allocated": torch.cuda.max_memory_allocated() if on_gpu else 0,
        "peak_reserved": torch.cuda.max_memory_reserved() if on_gpu else 0,
    }


def fill(model: Any) -> None:
    """Small random weights: uninitialised memory could hold NaN and, on some GPUs, runs at another speed."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not hasattr(parameter, "quant_state"):
                parameter.normal_(0.0, 0.02)


def step(model: Any, optimizer: Any, job: dict[str, Any], most: int) -> float:
    """Seconds of one optimizer step. Of its micro-batches `most` are run at most, and the last one counts for those that are left out."""
    began, last = time.perf_counter(), 0.0
    ran = min(most, job["grad_accum"])
    for _ in range(ran):
        start = time.perf_counter()
        ids = torch.randint(0, job["config"]["vocab_size"], (job["batch"], job["seq"]), device=job["device"])
        batch_loss(model, ids, job).backward()
        if ran < job["grad_accum"]:
            wait_for_gpu(job)
            last = time.perf_counter() - start
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    wait_for_gpu(job)
    return float(time.perf_counter() - began + last * (job["grad_accum"] - ran))


def wait_for_gpu(job: dict[str, Any]) -> None:
    """Wait for the GPU."""
    if job["device"] == "cuda":
        torch.cuda.synchronize()
