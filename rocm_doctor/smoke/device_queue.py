"""A queue is one GPU (or the CPU) and its remaining stages, which run in a child process that may crash.

The queue starts a child for its stages, reads the events that it appends, ends it when it is over its limit, and after a crash
continues in a new child with the stages that do not depend on the crashed one.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.smoke import watch
from rocm_doctor.smoke.state import DeviceQueue, Record, SmokeWorker, record
from rocm_doctor.workers import START, process
from rocm_doctor.workers.smoke.table import all_needs

TAIL_BYTES = 1 << 16
START_LIMIT = 60.0
"""Seconds for the interpreter itself, before its first stage."""
END_LIMIT = 20.0
"""Seconds for the interpreter to exit after its last stage."""
STACK_TIME = 0.3
"""Seconds for a child to print its Python stack before it is killed."""
PATIENCE = 10.0
"""Seconds of silence before, and between, progress lines."""
TAIL_LINES = 40


class _Event(msgspec.Struct):
    """Schema of a line of a worker's results. The tested code runs in the same process and could write anything to that file."""

    event: str
    stage: str = ""
    status: Literal["passed", "skipped", "failed"] = "passed"
    details: dict[str, Any] | None = None


def advance(queue: DeviceQueue) -> None:
    """Read new events and start, end or replace the child. Never blocks for long."""
    worker = queue.worker
    if worker is None:
        _bar(queue)
        if queue.pending:
            _start(queue)
        return
    _follow(queue, worker)
    enforce(queue, worker)
    report_waiting(queue, worker)
    if worker.child.ended is not None:
        _settle(queue, worker)


def interrupt(queue: DeviceQueue) -> None:
    """End the child: the running stage is recorded as interrupted, the others as not run."""
    worker, queue.worker = queue.worker, None
    if worker:
        process.stop(worker.child)
        _follow(queue, worker)
        if worker.stage:
            record(queue, stage=worker.stage, status="not-run", reason="interrupted", seconds=elapsed_seconds(worker))
    watch.end_marked(_mark(queue))
    for stage in queue.pending:
        if stage.name not in queue.states:
            record(queue, stage=stage.name, status="not-run", reason="interrupted")
    queue.pending = []


def _bar(queue: DeviceQueue) -> None:
    """Drop the pending stages that depend on a failed one, and record the stage to blame."""
    for stage in list(queue.pending):
        needs = all_needs(stage.name, queue.settings.framework)
        blame = next((need for need in needs if queue.states.get(need, "passed") != "passed"), None)
        if blame is not None:
            queue.pending.remove(stage)
            words = f"{blame} {_position(queue.states[blame])}"
            record(queue, stage=stage.name, status="not-run", reason=f"needs-{blame}", message=words)


def _position(status: str) -> str:
    return {"died": "died", "timeout": "timed out", "not-run": "was not run", "skipped": "was skipped"}.get(status, status)


def _start(queue: DeviceQueue) -> None:
    queue.children += 1
    results = Path(queue.settings.folder) / f"{queue.name}-{queue.children}.jsonl"
    results.touch()
    queue.worker = SmokeWorker(process.start(_make_spec(queue, results)), results)


def _make_spec(queue: DeviceQueue, results: Path) -> process.ChildSpec:
    settings = queue.settings
    options = {
        "results": str(results),
        "stages": [stage.name for stage in queue.pending],
        "framework": settings.framework,
        "device": settings.device,
        "gpu": queue.index,
        "level": settings.level,
        "prelude": settings.prelude,
    }
    argv = [settings.python, START, "smoke", msgspec.json.encode(options).decode()]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **settings.environment, watch.MARK: _mark(queue)}
    return process.ChildSpec(argv, limit=float("inf"), env=environment, cap=TAIL_BYTES, keep="tail")


def _follow(queue: DeviceQueue, worker: SmokeWorker) -> None:
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


def _take(queue: DeviceQueue, worker: SmokeWorker, event: Record) -> None:
    kind, worker.told = event.get("event"), time.monotonic()
    if kind == "hello":
        queue.hello = queue.hello or event
    elif kind == "start":
        worker.stage, worker.since, worker.doing = str(event.get("stage")), time.monotonic(), ""
        about = next((stage.about for stage in queue.pending if stage.name == worker.stage), worker.stage)
        queue.settings.tell(f"{queue.speaker}: {worker.stage} ({about})")
    elif kind == "doing":
        worker.doing = str(event.get("text"))
    elif kind == "end":
        worker.ended.add(worker.stage)
        worker.stage = ""
        worker.since = time.monotonic()
        details = {key: event[key] for key in ("seconds", "reason", "message", "details", "traceback") if key in event}
        record(queue, stage=event.get("stage", ""), status=event.get("status", "passed"), **details)
    elif kind in ("bye", "leave"):
        worker.exit_message = str(kind)


def _settle(queue: DeviceQueue, worker: SmokeWorker) -> None:
    """The child has ended: record its death, drop what is done, and leave the rest for the next child."""
    _follow(queue, worker)
    if is_broken(worker):
        record_crash(queue, worker)
    stragglers = watch.end_marked(_mark(queue))
    if stragglers:
        queue.records.append({"kind": "stragglers", "processes": stragglers})
    tried = worker.ended | {record["stage"] for record in queue.records if record["kind"] == "result"}
    queue.pending = [stage for stage in queue.pending if stage.name not in tried]
    queue.worker = None


def _mark(queue: DeviceQueue) -> str:
    """The mark of this queue's processes; other queues run at the same time."""
    return f"{queue.settings.token}-{queue.name}"


def enforce(queue: DeviceQueue, worker: SmokeWorker) -> None:
    """End a child that is over its time limit, and record where it was."""
    if worker.child.ended is not None or worker.child.proc is None:
        return
    limit = time_limit(queue, worker)
    if time.monotonic() - worker.since > limit:
        _ask_for_stack(worker)
        asleep = process.kernel_wait(worker.child.proc.pid)
        worker.verdict = {"status": "timeout", "limit": limit} | ({"asleep_in": asleep} if asleep else {})
        process.stop(worker.child, "timeout")
        if worker.child.state == "abandoned":
            worker.verdict |= {"reason": "unkillable", "pid": worker.child.proc.pid}


def time_limit(queue: DeviceQueue, worker: SmokeWorker) -> float:
    """The time limit of a child's current stage, in seconds."""
    if worker.stage:
        return queue.settings.limit or next((s.limit for s in queue.pending if s.name == worker.stage), START_LIMIT)
    return END_LIMIT if worker.exit_message else START_LIMIT


def _ask_for_stack(worker: SmokeWorker) -> None:
    """Make the worker print its Python stack (SIGUSR1), so that the end of its stderr shows where it hangs."""
    assert worker.child.proc is not None
    if hasattr(signal, "SIGUSR1") and (worker.ended or worker.stage):
        os.kill(worker.child.proc.pid, signal.SIGUSR1)
        until = time.monotonic() + STACK_TIME
        while worker.child.ended is None and time.monotonic() < until:
            process.pump([worker.child], timeout=STACK_TIME / 5)


def report_waiting(queue: DeviceQueue, worker: SmokeWorker) -> None:
    """Print a progress line after some silence: kernel compilation with a cold cache looks like a hang."""
    if worker.child.ended is not None or time.monotonic() - worker.told < PATIENCE:
        return
    worker.told = time.monotonic()
    waits = worker.doing or ("the interpreter to end" if worker.exit_message else worker.stage or "the interpreter to start")
    left = time_limit(queue, worker)
    queue.settings.tell(
        f"{queue.speaker}: {worker.stage} has run for {elapsed_seconds(worker):.0f} s (limit {left:.0f} s), waiting for: {waits}"
    )


def is_broken(worker: SmokeWorker) -> bool:
    """True if the child did not finish. After an exception on the GPU it may crash at exit, which does not count."""
    done = process.make_result(worker.child)
    well = worker.exit_message == "leave" or (worker.exit_message == "bye" and done.returncode == 0)
    return bool(worker.verdict) or done.state != "finished" or not well


def record_crash(queue: DeviceQueue, worker: SmokeWorker) -> None:
    """Record an abnormal exit of a child: last stage started, signal or exit code, end of stderr."""
    done = process.make_result(worker.child)
    waiting = next((s.name for s in queue.pending if s.name not in worker.ended), "exit")
    stage = worker.stage or ("exit" if worker.exit_message else waiting)
    how = worker.verdict or _how(done)
    kernel = queue.settings.kernel.new_lines()
    words = [line for line in done.stderr.splitlines() if line.strip()][-TAIL_LINES:]
    circumstances: Record = {"seconds": elapsed_seconds(worker), "doing": worker.doing}
    record(queue, stage=stage, **circumstances, **how)
    queue.words += [line[:1000] for line in words] + [f"kernel: {line[:1000]}" for line in kernel]


def _how(done: process.ChildResult) -> Record:
    """Status and reason of a child that died by itself: a signal, an exit code, or no result."""
    if done.state in ("not-found", "denied"):
        return {"status": "died", "reason": f"interpreter-{done.state}", "message": done.stderr}
    code = done.returncode or 0
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal-{-code}"
        return {"status": "died", "reason": name, "returncode": code}
    return {"status": "died", "reason": "no-result" if code == 0 else f"exit-{code}", "returncode": code}


def elapsed_seconds(worker: SmokeWorker) -> float:
    """Seconds since a child's current stage began."""
    return round(time.monotonic() - worker.since, 3)
