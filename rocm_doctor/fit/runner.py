"""Start the worker in the examined interpreter and turn what it prints into a `Peak`."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fit.allocator import Event, Peak, replay
from rocm_doctor.fit.job import Job
from rocm_doctor.workers import START, process

MIB = 1 << 20
Task = Literal["simulate", "measure"]


class WorkerError(Exception):
    """The worker gave no result; the message says why in one line."""


class Simulated(msgspec.Struct, frozen=True):
    """What the worker found. `events` are [storage, bytes] or [storage, 0]; the first `setup` of them come before the first
    step."""

    events: list[Event]
    labels: dict[int, str]
    setup: int
    parameters: int
    trainable: int
    attention: dict[str, int]
    versions: dict[str, str]
    host_peak: int = 0


class Measured(msgspec.Struct, frozen=True):
    """Bytes as torch's allocator counted them over real steps, the fastest step in seconds, the loss of the last."""

    params: int
    trainable: int
    weight_bytes: int
    base_bytes: int
    peak_allocated: int
    peak_reserved: int
    step_s: float
    loss: float
    device: str
    gfx: str
    total_bytes: int
    context_bytes: int
    versions: dict[str, str]


def simulate(job: Job, python: str | None = None, limit: float = 120.0) -> Simulated:
    """One step on the meta device. Raises WorkerError when torch or transformers is missing, cannot build the model, or takes too long."""
    found: Simulated = _ask(job, "simulate", Simulated, python, limit)
    return found


def measure(job: Job, python: str | None = None, limit: float = 600.0) -> Measured:
    """Three real steps on the first visible GPU.

    Raises WorkerError, out of memory included.
    """
    found: Measured = _ask(job, "measure", Measured, python, limit)
    return found


def peak_of(found: Simulated, workspace: int) -> Peak:
    """Peaks from the second step on, when the optimizer has its states. `workspace` bytes of BLAS scratch live in each of two
    threads."""
    shift = len(found.events)
    again = {storage + shift: label for storage, label in found.labels.items()}
    return replay(_two_steps(found, workspace), {**found.labels, **again, -1: "BLAS workspace", -2: "BLAS workspace"})


def _two_steps(found: Simulated, workspace: int) -> Iterator[Event]:
    """Setup, the step as it was recorded, and the step once more without what it only made the first time."""
    yield from ((-1, workspace), (-2, workspace))
    yield from found.events
    step = found.events[found.setup :]
    dead = {storage for storage, size in step if not size}
    shift = len(found.events)
    yield from ((storage + shift, size) for storage, size in step if storage in dead)


def _ask(job: Job, task: Task, kind: type[Any], python: str | None, limit: float) -> Any:
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-fit-") as folder:
        path = Path(folder) / "job.json"
        path.write_bytes(msgspec.json.encode(_as_dict(job, task)))
        done = process.run([python or sys.executable, START, "fit", str(path)], limit=limit, cap=64 * MIB)
    if done.state != "finished":
        what = "simulation" if task == "simulate" else "measurement"
        raise WorkerError(f"the {what} did not end ({done.state} after {done.seconds:.0f} s)")
    return _decode(done.stdout, done.stderr, kind)


def _as_dict(job: Job, task: Task) -> Mapping[str, Any]:
    fields = {name: getattr(job, name) for name in job.__struct_fields__ if name != "kernels"}
    return {**fields, "card": job.kernels, "task": task}


def _decode(stdout: str, stderr: str, kind: type[Any]) -> Any:
    """The result in the last line of JSON. Raises WorkerError, with the worker's own words where it has some."""
    lines = [line for line in stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise WorkerError((stderr.strip().splitlines() or ["the worker printed nothing"])[-1])
    with contextlib.suppress(Unreadable):
        return jsons.decode(lines[-1], kind)
    with contextlib.suppress(Unreadable, KeyError):
        raise WorkerError(str(jsons.decode(lines[-1], dict[str, Any])["error"]))
    raise WorkerError("unreadable result of the worker")
