"""Start the worker in the examined interpreter and turn what it prints into a `MemoryPeak`."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fit.allocator import Event, MemoryPeak, replay
from rocm_doctor.fit.job import Job
from rocm_doctor.workers import START, process

MIB = 1 << 20


class WorkerError(Exception):
    """The worker gave no result; the message says why in one line."""


class Simulated(msgspec.Struct, frozen=True):
    """What the worker found. `events`: [storage, bytes] at its birth, [storage, 0] at its death; the first `setup` come before
    the first step; `labels`: the purpose of each storage; `attention`: calls by kernel; `versions`: those of torch and
    transformers."""

    events: list[Event]
    labels: dict[int, str]
    setup: int
    parameters: int
    trainable: int
    attention: dict[str, int]
    versions: dict[str, str]


def simulate(job: Job, python: str | None = None, limit: float = 120.0) -> Simulated:
    """One step on the meta device. Raises WorkerError when torch or transformers is missing, cannot build the model, or takes too long."""
    fields = {name: getattr(job, name) for name in job.__struct_fields__ if name != "kernels"}
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-fit-") as folder:
        path = Path(folder) / "job.json"
        path.write_bytes(msgspec.json.encode({**fields, "card": job.kernels}))
        done = process.run([python or sys.executable, START, "fit", str(path)], limit=limit, cap=64 * MIB)
    if done.state != "finished":
        raise WorkerError(f"the simulation did not end ({done.state} after {done.seconds:.0f} s)")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise WorkerError((done.stderr.strip().splitlines() or ["the worker printed nothing"])[-1])
    with contextlib.suppress(Unreadable):
        return jsons.decode(lines[-1], Simulated)
    with contextlib.suppress(Unreadable, KeyError):
        raise WorkerError(str(jsons.decode(lines[-1], dict[str, Any])["error"]))
    raise WorkerError("unreadable result of the worker")


def find_peak(simulated: Simulated, workspace: int) -> MemoryPeak:
    """Peaks from the second step on, when the optimizer has its states. `workspace` bytes of BLAS scratch live in each of two
    threads."""
    shift = len(simulated.events)
    again = {storage + shift: label for storage, label in simulated.labels.items()}
    return replay(_two_steps(simulated, workspace), {**simulated.labels, **again, -1: "BLAS workspace", -2: "BLAS workspace"})


def _two_steps(simulated: Simulated, workspace: int) -> Iterator[Event]:
    """Setup, the step as it was recorded, and the step once more without what it only made the first time."""
    yield from ((-1, workspace), (-2, workspace))
    yield from simulated.events
    step = simulated.events[simulated.setup :]
    dead = {storage for storage, size in step if not size}
    shift = len(simulated.events)
    yield from ((storage + shift, size) for storage, size in step if storage in dead)
