"""A queue is one GPU (or the CPU, or all GPUs as one group) and its remaining stages, which run in child processes that may crash.

The queue starts a group of children for its next stages, reads the events they append, ends those over their limit, and after a
crash continues in a new group with the stages that do not depend on the crashed one.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.smoke import watch
from rocm_doctor.smoke.endings import START_LIMIT, broken, elapsed_seconds, enforce, record_crash, report_waiting
from rocm_doctor.smoke.state import DeviceQueue, Record, Worker, record
from rocm_doctor.workers import START, process
from rocm_doctor.workers.smoke.table import Stage, all_needs

TAIL_BYTES = 1 << 16


class _Event(msgspec.Struct):
    """What every line of a worker's results must be. The tested code runs in the same process and can write to the same file."""

    event: str
    stage: str = ""
    status: Literal["passed", "skipped", "failed"] = "passed"
    details: dict[str, Any] | None = None


def advance(queue: DeviceQueue) -> None:
    """Read new events and start, end or replace children. Never blocks for long."""
    if not queue.workers:
        _bar(queue)
        if queue.pending:
            _start(queue)
        return
    for worker in queue.workers:
        _follow(queue, worker)
        enforce(queue, worker)
        report_waiting(queue, worker)
    if any(worker.verdict or (worker.child.ended is not None and not worker.exit_message) for worker in queue.workers):
        for worker in queue.workers:
            process.stop(worker.child, "timeout")
    if all(worker.child.ended is not None for worker in queue.workers):
        _settle(queue)


def interrupt(queue: DeviceQueue) -> None:
    """End the children: the running stages are recorded as interrupted, the others as not run."""
    for worker in queue.workers:
        process.stop(worker.child)
        _follow(queue, worker)
        if worker.stage:
            record(
                queue,
                stage=worker.stage,
                status="not-run",
                reason="interrupted",
                seconds=elapsed_seconds(worker),
                rank=worker.rank,
            )
    watch.end_marked(_mark(queue))
    queue.workers = []
    for stage in queue.pending:
        if stage.name not in queue.states:
            record(queue, stage=stage.name, status="not-run", reason="interrupted")
    queue.pending = []


def _bar(queue: DeviceQueue) -> None:
    """Drop the pending stages that depend on a failed one, and record the stage to blame."""
    for stage in list(queue.pending):
        blame = next(
            (need for need in all_needs(stage.name, queue.settings.framework) if queue.states.get(need, "passed") != "passed"),
            None,
        )
        if blame is not None:
            queue.pending.remove(stage)
            record(
                queue,
                stage=stage.name,
                status="not-run",
                reason=f"needs-{blame}",
                message=f"{blame} {_position(queue.states[blame])}",
            )


def _position(status: str) -> str:
    return {"died": "died", "timeout": "timed out", "not-run": "was not run", "skipped": "was skipped"}.get(status, status)


def _start(queue: DeviceQueue) -> None:
    """A group for the next stages: all that one process can run in a row, or one stage that needs its own process."""
    fresh = queue.pending[0].group == "fresh"
    queue.batch = queue.pending[:1] if fresh else [s for s in queue.pending if s.group != "fresh"]
    queue.groups += 1
    port = free_port() if queue.world > 1 else 0
    for rank in range(queue.world):
        results = Path(queue.settings.folder) / f"{queue.name}-{queue.groups}-{rank}.jsonl"
        results.touch()
        ask = _ask(queue, results, rank, port)
        queue.workers.append(Worker(process.start(ask) if process.HAS_GROUPS else _whole(ask, queue.batch), results, rank))


def _ask(queue: DeviceQueue, results: Path, rank: int, port: int) -> process.ChildSpec:
    settings = queue.settings
    options = {
        "results": str(results),
        "stages": ",".join(stage.name for stage in queue.batch),
        "framework": settings.framework,
        "device": settings.device,
        "gpu": str(rank if queue.world > 1 else queue.index),
        "level": str(settings.level),
        "rank": str(rank),
        "world": str(queue.world),
        "port": str(port),
    } | ({"prelude": settings.prelude} if settings.prelude else {})
    argv = [settings.python, START, "smoke", *(word for name, value in options.items() for word in (f"--{name}", value))]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **settings.environment, watch.MARK: _mark(queue)}
    return process.ChildSpec(argv, limit=float("inf"), env=environment, cap=TAIL_BYTES, keep="tail")


def _whole(ask: process.ChildSpec, batch: Iterable[Stage]) -> process.Child:
    """Without process groups: the whole batch in one blocking call under one limit."""
    done = process.run(ask.argv, limit=START_LIMIT + sum(stage.limit for stage in batch), env=ask.env)
    now = time.monotonic()
    return process.Child(
        ask, now - done.seconds, err=bytearray(done.stderr.encode()), ended=now, state=done.state, returncode=done.returncode
    )


def free_port() -> int:
    """A TCP port that is free now, for the ranks of one job."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _follow(queue: DeviceQueue, worker: Worker) -> None:
    """Read the events appended since the last call, up to the last complete line."""
    with worker.results.open("rb") as file:
        file.seek(worker.offset)
        new = file.read()
    whole = new[: new.rfind(b"\n") + 1]
    worker.offset += len(whole)
    for line in whole.splitlines():
        try:
            event = jsons.decode(line, dict[str, Any])
            msgspec.convert(event, _Event)
        except (Unreadable, msgspec.ValidationError):
            continue
        _take(queue, worker, event)


def _take(queue: DeviceQueue, worker: Worker, event: Record) -> None:
    kind, worker.told = event.get("event"), time.monotonic()
    if kind == "hello":
        queue.hello = queue.hello or event
    elif kind == "start":
        worker.stage, worker.since, worker.doing = str(event.get("stage")), time.monotonic(), ""
        if worker.rank == 0:
            queue.settings.tell(f"{queue.speaker}: {worker.stage} ({_about(queue, worker.stage)})")
    elif kind == "doing":
        worker.doing = str(event.get("text"))
    elif kind == "end":
        worker.ended.add(worker.stage)
        worker.stage = ""
        worker.since = time.monotonic()
        told = {key: event[key] for key in ("seconds", "reason", "message", "details", "traceback") if key in event}
        record(queue, stage=event.get("stage", ""), status=event.get("status", "passed"), rank=worker.rank, **told)
    elif kind in ("bye", "leave"):
        worker.exit_message = str(kind)


def _about(queue: DeviceQueue, name: str) -> str:
    return next((stage.about for stage in queue.batch if stage.name == name), name)


def _settle(queue: DeviceQueue) -> None:
    """All children of the group have ended: record deaths, drop what is done, and leave the rest for the next group."""
    for worker in queue.workers:
        _follow(queue, worker)
    fallen = [worker for worker in queue.workers if broken(worker)]
    # In a group the first exit ends the others: we ended them while they waited for it.
    for worker in [w for w in fallen if w.verdict or w.child.state == "finished"] or fallen:
        record_crash(queue, worker)
    stragglers = watch.end_marked(_mark(queue))
    if stragglers:
        queue.records.append({"kind": "stragglers", "processes": stragglers})
    done = set.intersection(*(worker.ended for worker in queue.workers))
    tried = done | {record["stage"] for record in queue.records if record["kind"] == "result"}
    queue.pending = [stage for stage in queue.pending if stage.name not in tried]
    queue.workers, queue.batch = [], []


def _mark(queue: DeviceQueue) -> str:
    """The mark of this queue's processes; other queues run at the same time."""
    return f"{queue.settings.token}-{queue.name}"
