"""Child processes that cannot harm the doctor: bounded in time and in bytes, never waited for without end.

A GPU tool can print everything and then never exit (rocminfo under WSL, ROCm/librocdxg#17), sleep in the kernel beyond the
reach of SIGKILL (rocm-smi, ROCm/legacy-rocm-build#5745) or leave a grandchild that keeps the pipe open. `run` and `run_many`
return in bounded time in all of these cases and keep every byte that was read.

Unix: one selector loop serves all children; every child leads a session of its own, and the whole process group is ended.
Elsewhere (Windows, macOS before Python 3.13): the same, with a thread for each pipe and without process groups, so that a
grandchild is left alone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct, field

from rocm_doctor.workers.guard import Guard, find_escaped, guard, signals_held, single_threaded

State = Literal["finished", "timeout", "capped", "abandoned", "interrupted", "not-found", "denied"]
"""finished: it exited by itself. timeout: too slow, or silent after output without exiting. capped: it printed too much.
abandoned: SIGKILL did not end it (uninterruptible sleep). interrupted: the user did not want to wait for it.
denied: it is there and cannot be executed."""

HAS_GROUPS = hasattr(os, "killpg") and hasattr(os, "waitid")
"""Whether this system has process groups."""
MIB = 1 << 20
TERM_GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL."""
KILL_GRACE = 0.5
"""Seconds after SIGKILL until a child counts as unkillable."""
POLL = 0.02
"""Seconds between looks at a child where the kernel has no pidfd."""
CHUNK = 1 << 16


class ChildSpec(Struct, frozen=True):
    """One program to run. `limit` and `idle_after_output` are seconds, `cap` bytes for each of stdout and stderr.

    `keep`: what happens at `cap`. "head" ends the child, "tail" forgets the oldest bytes and lets it run.
    """

    argv: Sequence[str]
    limit: float = 5.0
    idle_after_output: float | None = None
    env: Mapping[str, str] | None = None
    cap: int = 8 * MIB
    cwd: str | None = None
    keep: Literal["head", "tail"] = "head"


class ChildResult(Struct, frozen=True):
    """Output and state of a child that has ended. `returncode` is None unless it ended by itself; a negative one is minus the signal's
    number."""

    stdout: str
    stderr: str
    returncode: int | None
    seconds: float
    state: State
    pid: int | None = None


class Child(Struct):
    """A running program, and what it has printed so far."""

    ask: ChildSpec
    started: float
    proc: subprocess.Popen[bytes] | None = None
    pidfd: int | None = None
    guard: Guard | None = None
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    readers: list[threading.Thread] = field(default_factory=list)
    spoke: float | None = None
    ended: float | None = None
    state: State = "finished"
    returncode: int | None = None


def run(
    argv: Sequence[str],
    *,
    limit: float = 5.0,
    idle_after_output: float | None = None,
    env: Mapping[str, str] | None = None,
    cap: int = 8 * MIB,
    cwd: str | None = None,
) -> ChildResult:
    """Run one program to its end, its limit or its cap. Raises nothing for a program that is missing or misbehaves."""
    return run_many([ChildSpec(argv, limit, idle_after_output, env, cap, cwd)])[0]


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
    """Start a program in a session of its own, without standard input. A failure to start is the child's state."""
    child = Child(ask, time.monotonic())
    try:
        with signals_held():
            child.guard = guard()
            forked = child.guard is not None and single_threaded()
            child.proc = subprocess.Popen(
                list(ask.argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if ask.env is None else dict(ask.env),
                cwd=ask.cwd,
                start_new_session=HAS_GROUPS,
                preexec_fn=child.guard.name_own if child.guard and forked else None,
            )
            if child.guard and not forked:
                child.guard.name(child.proc.pid)
    except OSError as error:
        _unguard(child)
        child.state = "not-found" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else "denied"
        child.err += str(error).encode()
        child.ended = time.monotonic()
        return child
    if HAS_GROUPS:
        child.pidfd = _pidfd(child.proc.pid)
        for pipe in _pipes(child):
            os.set_blocking(pipe.fileno(), False)
    else:
        _start_readers(child)
    return child


def pump(children: Sequence[Child], timeout: float) -> list[Child]:
    """Wait up to `timeout` seconds, read what the children print and end those over a limit. Returns the children still running."""
    alive = [child for child in children if child.ended is None]
    if not alive:
        return []
    _wait(alive, min(timeout, *(_seconds_left(child) for child in alive)))
    for child in alive:
        spent = _is_dead(child)
        _read(child)
        if child.ask.keep == "head" and max(len(child.out), len(child.err)) > child.ask.cap:
            stop(child, "capped")
        elif spent:
            stop(child)
        elif _seconds_left(child) <= 0:
            stop(child, "timeout")
    return [child for child in alive if child.ended is None]


def stop(child: Child, state: State = "finished") -> None:
    """End the child and its process group with SIGTERM, then SIGKILL. If it does not die, it is left behind. Idempotent."""
    if child.ended is not None or child.proc is None:
        return
    child.state = state
    outside: list[int] = []
    if not _is_dead(child):
        outside = find_escaped(child.proc.pid) if HAS_GROUPS else []
        _signal_group(child, "SIGTERM")
        _await_exit(child, TERM_GRACE)
    for pid in outside:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    # Also after a peaceful exit: a grandchild may hold our pipe. The leader is not reaped yet, so its group id is still its own.
    _signal_group(child, "SIGKILL")
    if not _await_exit(child, KILL_GRACE):
        child.state = "abandoned"
    _close(child)


def make_result(child: Child) -> ChildResult:
    """The result of a child that has ended."""
    code = child.proc.returncode if child.proc else child.returncode
    return ChildResult(
        stdout=bytes(child.out[: child.ask.cap] if child.ask.keep == "head" else child.out).decode("utf-8", "replace"),
        stderr=bytes(child.err[: child.ask.cap] if child.ask.keep == "head" else child.err).decode("utf-8", "replace"),
        returncode=code if child.state == "finished" else None,
        seconds=(child.ended or time.monotonic()) - child.started,
        state=child.state,
        pid=child.proc.pid if child.proc else None,
    )


def kernel_wait(pid: int) -> str | None:
    """Where in the kernel a process sleeps uninterruptibly (state D), such as "amdgpu_mes_lock"; None if it does not."""
    try:
        folder = Path(f"/proc/{pid}")
        state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        return (folder / "wchan").read_text(errors="replace").strip() or "unknown" if state == "D" else None
    except (OSError, IndexError):
        return None


def _pipes(child: Child) -> list[IO[bytes]]:
    assert child.proc is not None
    return [pipe for pipe in (child.proc.stdout, child.proc.stderr) if pipe is not None and not pipe.closed]


def _seconds_left(child: Child) -> float:
    """Seconds until a limit of the child is reached."""
    now, ask = time.monotonic(), child.ask
    left = child.started + ask.limit - now
    if ask.idle_after_output is not None and child.spoke is not None:
        left = min(left, child.spoke + ask.idle_after_output - now)
    return left


def _wait(children: Sequence[Child], timeout: float) -> None:
    """Sleep until a child prints or exits, at most `timeout` seconds; at most POLL seconds if a child has no pidfd, since its
    exit wakes nobody. Where there are no process groups (Windows) it sleeps the whole time."""
    if any(child.pidfd is None for child in children):
        timeout = min(timeout, POLL)
    if not HAS_GROUPS:
        time.sleep(max(timeout, 0.0))
        return
    with selectors.DefaultSelector() as selector:
        for child in children:
            for pipe in _pipes(child):
                selector.register(pipe, selectors.EVENT_READ)
            if child.pidfd is not None:
                selector.register(child.pidfd, selectors.EVENT_READ)
        selector.select(max(timeout, 0.0))


def _read(child: Child) -> None:
    """Read what the pipes hold, at most a little more than the cap: a flood of output must not keep the loop here."""
    assert child.proc is not None
    if not HAS_GROUPS:
        return
    for pipe, kept in ((child.proc.stdout, child.out), (child.proc.stderr, child.err)):
        if pipe is None or pipe.closed:
            continue
        for _ in range(child.ask.cap // CHUNK + 2):
            try:
                chunk = os.read(pipe.fileno(), CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                pipe.close()
                break
            _take(child, kept, chunk)


def _start_readers(child: Child) -> None:
    assert child.proc is not None
    for pipe, kept in ((child.proc.stdout, child.out), (child.proc.stderr, child.err)):
        assert pipe is not None
        child.readers.append(threading.Thread(target=_drain, args=(child, pipe, kept), daemon=True))
        child.readers[-1].start()


def _drain(child: Child, pipe: IO[bytes], kept: bytearray) -> None:
    """Read one pipe to its end or to the cap of a "head", in a thread of its own, which also closes it."""
    with pipe:
        while chunk := os.read(pipe.fileno(), CHUNK):
            _take(child, kept, chunk)
            if child.ask.keep == "head" and len(kept) > child.ask.cap:
                return


def _take(child: Child, kept: bytearray, chunk: bytes) -> None:
    kept += chunk
    child.spoke = time.monotonic()
    if child.ask.keep == "tail" and len(kept) > child.ask.cap:
        del kept[: len(kept) - child.ask.cap]


def _unguard(child: Child) -> None:
    if child.guard is not None:
        child.guard.release()
        child.guard = None


def _pidfd(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _is_dead(child: Child) -> bool:
    """Whether the child is dead. It stays unreaped, so that its process group id cannot be given to a stranger."""
    if child.proc is None or child.proc.returncode is not None:
        return True
    if sys.platform == "win32" or not HAS_GROUPS:
        return child.proc.poll() is not None
    try:
        return os.waitid(os.P_PID, child.proc.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _await_exit(child: Child, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not _is_dead(child):
        left = until - time.monotonic()
        if left <= 0:
            return False
        # Its output is read on, else a child blocked on a full pipe could not run its SIGTERM handler.
        _wait([child], min(left, POLL if child.pidfd is None else left))
        _read(child)
    return True


def _signal_group(child: Child, name: Literal["SIGTERM", "SIGKILL"]) -> None:
    assert child.proc is not None
    if sys.platform == "win32" or not HAS_GROUPS:
        child.proc.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.proc.pid, getattr(signal, name))


def _close(child: Child) -> None:
    """Take the last bytes, give back the descriptors, reap."""
    assert child.proc is not None
    _read(child)
    for reader in child.readers:
        reader.join(KILL_GRACE)  # a grandchild may hold the pipe, and its reader with it
    for pipe in () if child.readers else _pipes(child):
        pipe.close()
    if child.pidfd is not None:
        os.close(child.pidfd)
        child.pidfd = None
    _unguard(child)
    child.ended = time.monotonic()
    if child.state == "abandoned":
        child.proc.returncode = -signal.SIGTERM  # Popen must not wait for it, nor complain: whoever inherits it will reap it.
    else:
        child.proc.wait()
