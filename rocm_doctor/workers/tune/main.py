"""Entry point: `main([asks, results, bytes, package ...])` measures every job that is appended to the first file and appends a line of JSON
for each. `bytes`: memory of the GPU that it may take, 0 for all; `package`: imported at the start.

The last line is `{"stop": true}`. A job is that of `fit`'s worker with `compile`, `steps` and `device`; running out of memory is
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

WHOLE = 3
"""From so many steps on every micro-batch is run: shorter runs compare, longer ones give the figure."""
SELDOM = 0.5
"""Seconds between looks at the sensors: a run whose kernels are small is bound by the thread that starts them."""
POLL = 0.02
"""Seconds between looks for a new job."""


def main(argv: list[str]) -> None:
    """Entry point of the worker."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    asks, results = Path(argv[0]), Path(argv[1])
    emit(results, {"hello": describe_gpu(int(argv[2]), argv[3:])})
    for job in read_jobs(asks):
        emit(results, {"id": job["id"], **attempt(job)})


def read_jobs(path: Path) -> Iterator[dict[str, Any]]:
    """The jobs of the file as they come, until one says stop or the parent is gone."""
    parent = os.getppid()
    with path.open(encoding="utf-8") as file:
        while True:
            line = file.readline()
            if not line.endswith("\n"):
                file.seek(file.tell() - len(line))
                time.sleep(POLL)
                if os.getppid() != parent:
                    return
                continue
            job = json.loads(line)
            if job.get("stop"):
                return
            yield job


def emit(path: Path, line: dict[str, Any]) -> None:
    """Append one line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def describe_gpu(limit: int, packages: list[str]) -> dict[str, Any]:
    """The GPU and the packages. With a limit, this process may take that many bytes of the GPU's memory and no more."""
    import torch

    for name in packages:  # slow to import: the first job must not pay for it
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    found = {"torch": torch.__version__, "liger": importlib.util.find_spec("liger_kernel") is not None, "device": "cpu"}
    if torch.cuda.is_available():
        from ..fit import measure

        total = torch.cuda.mem_get_info()[1]
        if limit:
            torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))
        measure.warm_up()
        found.update(
            device="cuda", name=torch.cuda.get_device_name(), gfx=measure.target(), total=total, context=measure.context()
        )
    return found


def attempt(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, or `error` with the reason. Frees the memory that the job took."""
    import torch

    began = time.time()
    try:
        result = measure_run(job)
    except Exception as error:
        full = "out of memory" in str(error).lower()
        result = {"error": "out of memory" if full else (type(error).__name__ + ": " + str(error))[:500]}
    if job["compile"]:
        torch._dynamo.reset()  # after eight recompilations of one function torch runs it uncompiled, and says nothing
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return dict(result, wall_s=round(time.time() - began, 3))


def measure_run(job: dict[str, Any]) -> dict[str, Any]:
    """Tokens per second over whole optimizer steps, the memory they took, and joules per token where the power can be read."""
    import torch

    from ..fit import build, measure

    torch.manual_seed(0)
    on_gpu = job["device"] == "cuda"
    model = build.build_model(job, job["device"])
    measure.fill(model)
    optimizer = build.build_optimizer(model, job)
    if job["compile"]:
        module_to_compile(model, job).compile()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    step(model, optimizer, job, 1)
    first = time.perf_counter() - began
    few = 2 if job["steps"] < WHOLE else job["grad_accum"]
    with watching(on_gpu) as watch:
        seconds = [step(model, optimizer, job, few) for _ in range(job["steps"])]
    tokens = job["batch"] * job["seq"] * job["grad_accum"]
    watts = watch.conditions().get("power_watts") if watch else None
    return {
        "tokens_s": tokens / statistics.median(seconds),
        "samples": [tokens / one for one in seconds],
        "peak_allocated": torch.cuda.max_memory_allocated() if on_gpu else 0,
        "peak_reserved": torch.cuda.max_memory_reserved() if on_gpu else 0,
        "joules_per_token": watts * statistics.median(seconds) / tokens if watts else None,
        "compile_s": first if job["compile"] else 0.0,
    }


def module_to_compile(model: Any, job: dict[str, Any]) -> Any:
    """The module to give to torch.compile: the model, or its inner module where a fused loss replaces the head."""
    core = model.get_base_model() if hasattr(model, "get_base_model") else model
    return core.model if job["fused_loss"] else model


def step(model: Any, optimizer: Any, job: dict[str, Any], most: int) -> float:
    """Seconds of one optimizer step. Of its micro-batches `most` are run at most, and the last one counts for those that are left out."""
    import torch

    from ..fit.step import loss_of

    began, last = time.perf_counter(), 0.0
    ran = min(most, job["grad_accum"])
    for _ in range(ran):
        start = time.perf_counter()
        ids = torch.randint(0, job["config"]["vocab_size"], (job["batch"], job["seq"]), device=job["device"])
        loss_of(model, ids, job).backward()
        if ran < job["grad_accum"]:
            wait_for_gpu(job)
            last = time.perf_counter() - start
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    wait_for_gpu(job)
    return float(time.perf_counter() - began + last * (job["grad_accum"] - ran))


def wait_for_gpu(job: dict[str, Any]) -> None:
    """Wait for the GPU."""
    import torch

    if job["device"] == "cuda":
        torch.cuda.synchronize()


class watching:
    """The sensors of the first GPU while the block runs; nothing on a CPU."""

    def __init__(self, on_gpu: bool) -> None:
        self.watch: Any = None
        if on_gpu:
            import torch

            from ..bench import hip, sensors
            from ..smoke.hip import is_hip

            read = sensors.Sensors(*hip.sensors(torch, 0)) if is_hip(torch) else sensors.nvml(torch, 0)
            self.watch = sensors.Watch(read, SELDOM)

    def __enter__(self) -> Any:
        return self.watch.__enter__() if self.watch else None

    def __exit__(self, *_: object) -> None:
        if self.watch:
            self.watch.__exit__()
