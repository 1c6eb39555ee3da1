"""The ways a child process ends: over its time or memory limit, by a signal, or silently. The end of its stderr is kept."""

from __future__ import annotations

import os
import signal
import time

from rocm_doctor.smoke import watch
from rocm_doctor.smoke.state import DeviceQueue, Record, Worker, record
from rocm_doctor.workers import process

START_LIMIT = 60.0
"""Seconds for the interpreter itself, before its first stage."""
END_LIMIT = 20.0
"""Seconds for the interpreter to exit after its last stage."""
GROUP_GRACE = 15.0
"""Seconds for the other ranks to end a stage after one rank has failed: usually they wait for it in vain."""
STACK_TIME = 0.3
"""Seconds for a child to print its Python stack before it is killed."""
PATIENCE = 10.0
"""Seconds of silence before, and between, progress lines."""
TAIL_LINES = 40


def enforce(queue: DeviceQueue, worker: Worker) -> None:
    """End a child that is over its time or memory limit, and record which."""
    if worker.child.ended is not None or worker.child.proc is None:
        return
    limit = time_limit(queue, worker)
    used = watch.resident_bytes(worker.child.proc.pid) if queue.settings.memory_limit else None
    if used is not None and used > (queue.settings.memory_limit or 0):
        worker.verdict = {"status": "died", "reason": "memory-limit", "resident_bytes": used}
    elif time.monotonic() - worker.since > limit:
        _ask_for_stack(worker)
        asleep = process.kernel_wait(worker.child.proc.pid)
        worker.verdict = {"status": "timeout", "limit": limit} | ({"asleep_in": asleep} if asleep else {})
    if worker.verdict:
        process.stop(worker.child, "timeout")
        if worker.child.state == "abandoned":
            worker.verdict |= {"reason": "unkillable", "pid": worker.child.proc.pid}


def time_limit(queue: DeviceQueue, worker: Worker) -> float:
    """The time limit of a child's current stage, in seconds."""
    if worker.stage:
        limit = queue.settings.limit or next((s.limit for s in queue.batch if s.name == worker.stage), START_LIMIT)
        failed = queue.failed_at.get(worker.stage)
        return limit if failed is None else min(limit, failed + GROUP_GRACE - worker.since)
    return END_LIMIT if worker.exit_message else START_LIMIT


def _ask_for_stack(worker: Worker) -> None:
    """Make the worker print its Python stack (SIGUSR1), so that the end of its stderr shows where it hangs."""
    assert worker.child.proc is not None
    if worker.ended or worker.stage:
        os.kill(worker.child.proc.pid, signal.SIGUSR1)
        until = time.monotonic() + STACK_TIME
        while worker.child.ended is None and time.monotonic() < until:
            process.pump([worker.child], timeout=STACK_TIME / 5)


def report_waiting(queue: DeviceQueue, worker: Worker) -> None:
    """Print a progress line after some silence: kernel compilation with a cold cache looks like a hang."""
    if worker.child.ended is not None or time.monotonic() - worker.told < PATIENCE:
        return
    worker.told = time.monotonic()
    waits = worker.doing or ("the interpreter to end" if worker.exit_message else worker.stage or "the interpreter to start")
    left = time_limit(queue, worker)
    queue.settings.tell(
        f"{queue.speaker}: {worker.stage} has run for {elapsed_seconds(worker):.0f} s (limit {left:.0f} s), waiting for: {waits}"
    )


def broken(worker: Worker) -> bool:
    """True if the child did not finish. After an exception on the GPU it may crash at exit, which does not count."""
    done = process.done(worker.child)
    well = worker.exit_message == "leave" or (worker.exit_message == "bye" and done.returncode == 0)
    return bool(worker.verdict) or done.state != "finished" or not well


def record_crash(queue: DeviceQueue, worker: Worker) -> None:
    """Record an abnormal exit of a child: last stage started, signal or exit code, end of stderr."""
    done = process.done(worker.child)
    stage = worker.stage or (
        "exit" if worker.exit_message else next((s.name for s in queue.batch if s.name not in worker.ended), "exit")
    )
    how = worker.verdict or _how(done)
    kernel = queue.settings.kernel.new_lines()
    words = [line for line in done.stderr.splitlines() if line.strip()][-TAIL_LINES:]
    record(
        queue,
        stage=stage,
        rank=worker.rank,
        seconds=elapsed_seconds(worker),
        doing=worker.doing,
        stderr_bytes=len(done.stderr),
        **how,
    )
    queue.words += [line[:1000] for line in words] + [f"kernel: {line[:1000]}" for line in kernel]


def _how(done: process.ChildResult) -> Record:
    """How a child that we did not end died: by a signal, with an exit code, or without output."""
    if done.state in ("not-found", "denied"):
        return {"status": "died", "reason": f"interpreter-{done.state}", "message": done.stderr}
    code = done.returncode or 0
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal-{-code}"
        return {"status": "died", "reason": name, "returncode": code}
    return {"status": "died", "reason": "no-result" if code == 0 else f"exit-{code}", "returncode": code}


def elapsed_seconds(worker: Worker) -> float:
    """Seconds since a child's current stage began."""
    return round(time.monotonic() - worker.since, 3)
