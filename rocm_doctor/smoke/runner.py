"""The smoke test as text: runs the worker in the examined interpreter, one child per GPU, and returns what happened as
artifacts.

An artifact `smoke/gpu0.jsonl` (or `smoke/cpu.jsonl`) holds JSON lines:

* `header`: schema, interpreter and its version, framework and its version, device, level;
* `result`: stage, status (passed, failed, skipped, died, timeout, not-run), reason, message, seconds, details;
* `stragglers`: processes that had to be ended after their parent.

The output of failed stages (the end of stderr, tracebacks, new lines of the kernel log) is in `smoke/gpu0.log`. The text is judged
like any other, also when replayed from a bundle; this module does not interpret it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from rocm_doctor.model import Artifact
from rocm_doctor.smoke import device_queue, watch
from rocm_doctor.smoke.state import DeviceQueue, Record, Settings
from rocm_doctor.workers import process
from rocm_doctor.workers.smoke.table import BY_NAME, FRAMEWORKS, Stage

SCHEMA = 1
TICK = 0.1
"""Seconds between reads of the children's events."""


def run_smoke(
    python: str | None = None,
    *,
    framework: str = "torch",
    level: int = 1,
    device: str = "auto",
    stages: Sequence[str] = (),
    plan: Sequence[Stage] = (),
    gpu: int | None = None,
    limit: float | None = None,
    prelude: str | None = None,
    environment: dict[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> list[Artifact]:
    """The artifacts of a smoke test in `python` (default: the running one), of the stages up to `level`, of the named `stages`,
    or of those of `plan`. `framework`: torch, jax, or auto for those that are installed, one after the other. `gpu`: only this
    index, without fallback to the CPU; by default every GPU that the framework lists. `limit`: seconds for each stage instead of
    its own. `prelude`: a Python file that the worker runs first, for tests. An interrupt ends the children and is the artifacts'
    note. Raises KeyError for a stage that does not exist."""
    names = find_frameworks(python or sys.executable, environment or {}) if framework == "auto" else (framework,)
    plans = {name: chosen for name in names if (chosen := list(plan) or choose_stages(level, stages, name))}
    if not plans:
        raise KeyError(", ".join(stages))
    shared = {
        "python": python or sys.executable,
        "device": "cuda" if device == "auto" and gpu is not None else device,
        "tell": on_progress or (lambda line: None),
        "limit": limit,
        "prelude": prelude,
        "environment": environment or {},
    }
    artifacts: list[Artifact] = []
    for name, chosen in plans.items():
        if not any(artifact.note == "interrupted" for artifact in artifacts):
            highest = max([level, *(stage.level for stage in chosen)])
            artifacts += _run_framework(chosen, gpu, {**shared, "framework": name, "level": highest})
    return artifacts


def find_frameworks(python: str, environment: dict[str, str]) -> tuple[str, ...]:
    """The frameworks of FRAMEWORKS that the interpreter has, without importing them; torch if there is none: its import stage
    then fails."""
    code = f"from importlib.util import find_spec; print(*(name for name in {tuple(FRAMEWORKS)} if find_spec(name)))"
    done = process.run([python, "-c", code], limit=device_queue.START_LIMIT, env={**os.environ, **environment})
    return tuple(name for name in done.stdout.split() if name in FRAMEWORKS) or ("torch",)


def _run_framework(plan: list[Stage], gpu: int | None, options: dict[str, Any]) -> list[Artifact]:
    """The artifacts of one framework's smoke test. `options`: fields of Settings."""
    done: list[DeviceQueue] = []
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-smoke-", ignore_cleanup_errors=True) as folder:
        settings = Settings(folder=folder, token=uuid.uuid4().hex, kernel=watch.KernelLog(), **options)
        try:
            return _run_queues(settings, plan, gpu, done)
        finally:
            settings.kernel.close()
            for queue in done:
                if queue.worker:
                    process.stop(queue.worker.child)


def choose_stages(level: int, names: Sequence[str], framework: str = "torch") -> list[Stage]:
    """The framework's stages of this level and below, or those named; the import and the device come first in any case. Empty
    if it has none of the named ones. Raises KeyError for a name that no framework has.
    """
    table = FRAMEWORKS[framework]
    wanted = {full for name in names for full in stages_named(name)} or {stage.name for stage in table if stage.level <= level}
    if not any(stage.name in wanted for stage in table):
        return []
    return [stage for stage in table if stage.name in wanted | {"import", "device"}]


def stages_named(name: str) -> list[str]:
    """The stage of that name, or the stages of that family: `attention` is all whose name begins so. Raises KeyError if there is none."""
    name = name.replace("_", "-")
    stages = [name] if name in BY_NAME else [full for full in BY_NAME if full.startswith(name + "-")]
    if not stages:
        raise KeyError(name)
    return stages


def _run_queues(settings: Settings, plan: list[Stage], gpu: int | None, done: list[DeviceQueue]) -> list[Artifact]:
    """Run the stages and return the artifacts of all queues; each queue is appended to `done` as well. The queue of the first GPU
    counts the GPUs. Those of the others then start beside it, without the stages marked `once`. It stays alone if `gpu` is given,
    or if only the import and the device are to be run by each GPU. Ctrl-C ends the queues; the artifacts then have the note
    `interrupted`."""
    began, note = time.monotonic(), ""
    try:
        done.append(DeviceQueue("cpu" if settings.device == "cpu" else f"gpu{gpu or 0}", settings, list(plan), index=gpu or 0))
        each = [stage for stage in plan if not stage.once]
        alone = gpu is not None or all(stage.name in ("import", "device") for stage in each)
        while _tick(done) or (not alone and len(done) < count_gpus(done[0].records)):
            if not alone and len(done) < (count := count_gpus(done[0].records)):
                done += [DeviceQueue(f"gpu{n}", settings, list(each), index=n) for n in range(1, count)]
    except KeyboardInterrupt:
        note = "interrupted"
        for queue in done:
            device_queue.interrupt(queue)
    seconds = round(time.monotonic() - began, 3)
    return [artifact for queue in done for artifact in _artifacts(queue, seconds, note)]


def _tick(queues: list[DeviceQueue]) -> bool:
    """Advance all queues and wait briefly for their children; True while any is left."""
    for queue in queues:
        device_queue.advance(queue)
    process.pump([queue.worker.child for queue in queues if queue.worker], timeout=TICK)
    return any(queue.busy for queue in queues)


def stage_details(records: Iterable[Record], stage: str) -> Record:
    """The details of a stage's result; empty without any."""
    results = (r for r in records if r.get("kind") == "result" and r.get("stage") == stage)
    details = next(results, {}).get("details")
    return details if isinstance(details, dict) else {}


def count_gpus(records: Iterable[Record]) -> int:
    """How many GPUs the device stage listed; 1 for a CPU, and before that stage."""
    device = stage_details(records, "device")
    return int(device.get("count", 1)) if device.get("kind") in ("cuda", "hip") else 1


def _artifacts(queue: DeviceQueue, seconds: float, note: str) -> list[Artifact]:
    lines = [_header(queue), *queue.records]
    text = "".join(msgspec.json.encode(line).decode() + "\n" for line in lines)
    results = Artifact(f"smoke/{queue.title}.jsonl", "smoke", text, seconds=seconds, note=note)
    return [results] + ([Artifact(f"smoke/{queue.title}.log", "smoke", "\n".join(queue.words) + "\n")] if queue.words else [])


def _expected_device(device: str, framework: dict[str, Any]) -> str:
    """The kind of device if none was reached: hip or cuda by the framework's build, cpu if requested, else unknown."""
    built = {"rocm": "hip", "cuda": "cuda"}.get(str(framework.get("built_for")))
    return "cpu" if device == "cpu" else built or next((kind for kind in ("hip", "cuda") if framework.get(kind)), "unknown")


def _header(queue: DeviceQueue) -> dict[str, Any]:
    """The first record of a queue's output: schema, interpreter and its Python version, framework and its version, HIP, CUDA,
    device, index, level. What the stages did not print is None; the device is then the one that is expected."""
    framework, device = stage_details(queue.records, "import"), stage_details(queue.records, "device")
    return {
        "kind": "header",
        "schema": SCHEMA,
        "interpreter": queue.settings.python,
        "python": queue.hello.get("python"),
        "framework": queue.settings.framework,
        queue.settings.framework: framework.get(queue.settings.framework),
        "hip": framework.get("hip"),
        "cuda": framework.get("cuda"),
        "device": device.get("kind") or _expected_device(queue.settings.device, framework),
        "name": device.get("name"),
        "index": queue.index,
        "level": queue.settings.level,
    }
