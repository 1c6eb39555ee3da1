"""Child processes that cannot harm the doctor: bounded in time and in bytes, never waited for without end.

A GPU tool can print everything and then never exit (rocminfo under WSL, ROCm/librocdxg#17), sleep in the kernel beyond the
reach of SIGKILL (rocm-smi, ROCm/legacy-rocm-build#5745) or leave a grandchild that keeps the pipe open. `run` and `run_many`
return in bounded time in all of these cases and keep every byte that was read. One loop serves all children; child.py has the systems'
differences.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rocm_doctor.workers import child as system
from rocm_doctor.workers.child import MIB, Child, ChildSpec, State, kernel_wait
from rocm_doctor.workers.guard import find_escaped

__all__ = [
    "MIB",
    "Child",
    "ChildResult",
    "ChildSpec",
    "State",
    "kernel_wait",
    "make_result",
    "pump",
    "run",
    "run_many",
    "start",
    "stop",
]

TERM_GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL."""
KILL_GRACE = 0.5
"""Seconds after SIGKILL until a child counts as unkillable."""


class ChildResult(Struct, frozen=True):
    """Output and state of a child that has ended. `returncode`: None unless it ended by itself; negative: minus the signal's
    number. `seconds`: from its start to its end."""

    stdout: str
    stderr: str
    returncode: int | None
    seconds: float
    state: State
    pid: int | None = None


def run(
    argv: Sequence[str], *, limit: float = 5.0, env: Mapping[str, str] | None = None, cap: int = 8 * MIB, cwd: str | None = None
) -> ChildResult:
    """Run one program to its end, its limit or its cap. Raises nothing for a program that is missing or misbehaves."""
    return run_many([ChildSpec(argv, limit, None, env, cap, cwd)])[0]


def run_many(asks: Sequence[ChildSpec]) -> list[ChildResult]:
    """Run all programs at once; results in the order of `asks`. An interrupt ends every child before it goes on."""
    children = [start(ask) for ask in asks]
    try:
        while pump(children, timeout=0.5):
            pass
    finally:
        for child in children:
            stop(child)
    return [make_result(child) for child in children]


def start(ask: ChildSpec) -> Child:
    """Start a program. A failure to start is the child's state."""
    child = Child(ask)
    try:
        child.launch()
    except OSError as error:
        child.release_guard()
        child.state = "not-found" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else "denied"
        child.err += str(error).encode()
        child.ended = time.monotonic()
    return child


def pump(children: Sequence[Child], timeout: float) -> list[Child]:
    """Wait up to `timeout` seconds, read what the children print and end those over a limit. Returns the children still running."""
    alive = [child for child in children if child.ended is None]
    if not alive:
        return []
    system.wait(alive, min(timeout, *(child.seconds_left() for child in alive)))
    for child in alive:
        dead = child.is_dead()
        child.read()
        if child.ask.keep == "head" and max(len(child.out), len(child.err)) > child.ask.cap:
            stop(child, "capped")
        elif dead:
            stop(child)
        elif child.seconds_left() <= 0:
            stop(child, "timeout")
    return [child for child in alive if child.ended is None]


def stop(child: Child, state: State = "finished") -> None:
    """End the child and its process group with SIGTERM, then SIGKILL. If it does not die, it is left behind. Idempotent."""
    if child.ended is not None or child.proc is None:
        return
    child.state = state
    outside: list[int] = []
    if not child.is_dead():
        outside = find_escaped(child.proc.pid) if system.HAS_GROUPS else []
        child.signal_group("SIGTERM")
        child.await_death(TERM_GRACE)
    for pid in outside:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    # Also after a peaceful exit: a grandchild may hold our pipe. The leader is not reaped yet, so its group id is still its own.
    child.signal_group("SIGKILL")
    if not child.await_death(KILL_GRACE):
        child.state = "abandoned"
    child.close()


def make_result(child: Child) -> ChildResult:
    """The result of a child that has ended."""
    out, err = (kept[: child.ask.cap] if child.ask.keep == "head" else kept for kept in (child.out, child.err))
    return ChildResult(
        stdout=bytes(out).decode("utf-8", "replace"),
        stderr=bytes(err).decode("utf-8", "replace"),
        returncode=child.proc.returncode if child.proc and child.state == "finished" else None,
        seconds=(child.ended or time.monotonic()) - child.started,
        state=child.state,
        pid=child.proc.pid if child.proc else None,
    )
