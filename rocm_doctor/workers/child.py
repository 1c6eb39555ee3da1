"""One running program as this system has it: its pipes, its process group, its death.

Unix: every child leads a session of its own, and the whole process group is ended. Elsewhere (Windows, macOS before Python 3.13): the same,
with a thread for each pipe and without process groups, so that a grandchild is left alone.
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

from rocm_doctor.workers.guard import Guard, guard, signals_held, single_threaded

State = Literal["finished", "timeout", "capped", "abandoned", "interrupted", "not-found", "denied"]
"""finished: it exited by itself. timeout: too slow, or silent after output without exiting. capped: it printed too much.
abandoned: SIGKILL did not end it (uninterruptible sleep). interrupted: the user did not want to wait for it.
denied: it is there and cannot be executed."""

HAS_GROUPS = hasattr(os, "killpg") and hasattr(os, "waitid")
"""Whether this system has process groups."""
MIB = 1 << 20
POLL = 0.02
"""Seconds between looks at a child where the kernel has no pidfd."""
JOIN = 0.5
"""Seconds to wait for a thread that reads a pipe: a grandchild may hold the pipe, and the thread with it."""
CHUNK = 1 << 16


class ChildSpec(Struct, frozen=True):
    """One program to run. `limit`: seconds in all; `idle_after_output`: seconds of silence after output; `cap`: bytes for each of
    stdout and stderr. `keep`: what happens at `cap`: "head" ends the child, "tail" forgets the oldest bytes and lets it run.
    `env`: None is our own."""

    argv: Sequence[str]
    limit: float = 5.0
    idle_after_output: float | None = None
    env: Mapping[str, str] | None = None
    cap: int = 8 * MIB
    cwd: str | None = None
    keep: Literal["head", "tail"] = "head"


class Child(Struct):
    """A running program, and what it has printed so far. `spoke` and `ended`: when, as time.monotonic() counts."""

    ask: ChildSpec
    started: float = field(default_factory=time.monotonic)
    proc: subprocess.Popen[bytes] | None = None
    pidfd: int | None = None
    guard: Guard | None = None
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    readers: list[threading.Thread] = field(default_factory=list)
    spoke: float | None = None
    ended: float | None = None
    state: State = "finished"

    def launch(self) -> None:
        """Start the program in a session of its own, without standard input. Raises OSError if it is not there or cannot be
        executed."""
        with signals_held():
            self.guard = guard()
            forked = self.guard is not None and single_threaded()
            self.proc = subprocess.Popen(
                list(self.ask.argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if self.ask.env is None else dict(self.ask.env),
                cwd=self.ask.cwd,
                start_new_session=HAS_GROUPS,
                preexec_fn=self.guard.name_own if self.guard and forked else None,
            )
            if self.guard and not forked:
                self.guard.name(self.proc.pid)
        if HAS_GROUPS:
            self.pidfd = _open_pidfd(self.proc.pid)
            for pipe, _ in self.pipes():
                os.set_blocking(pipe.fileno(), False)
        else:
            self.readers = [threading.Thread(target=self._drain, args=each, daemon=True) for each in self.pipes()]
            for reader in self.readers:
                reader.start()

    def pipes(self) -> list[tuple[IO[bytes], bytearray]]:
        """(pipe, bytes read from it so far) of standard output and standard error, as far as they are open."""
        ends = ((self.proc.stdout, self.out), (self.proc.stderr, self.err)) if self.proc else ()
        return [(pipe, kept) for pipe, kept in ends if pipe is not None and not pipe.closed]

    def read(self) -> None:
        """Read what the pipes hold, at most a little more than the cap: a flood of output must not keep the loop here."""
        for pipe, kept in self.pipes() if HAS_GROUPS else ():
            for _ in range(self.ask.cap // CHUNK + 2):
                try:
                    chunk = os.read(pipe.fileno(), CHUNK)
                except BlockingIOError:
                    break
                if not chunk:
                    pipe.close()
                    break
                self._take(kept, chunk)

    def _drain(self, pipe: IO[bytes], kept: bytearray) -> None:
        """Read one pipe to its end or to the cap of a "head", in a thread of its own, which also closes it."""
        with pipe:
            while chunk := os.read(pipe.fileno(), CHUNK):
                self._take(kept, chunk)
                if self.ask.keep == "head" and len(kept) > self.ask.cap:
                    return

    def _take(self, kept: bytearray, chunk: bytes) -> None:
        kept += chunk
        self.spoke = time.monotonic()
        if self.ask.keep == "tail" and len(kept) > self.ask.cap:
            del kept[: len(kept) - self.ask.cap]

    def seconds_left(self) -> float:
        """Seconds until a limit is reached."""
        left = self.started + self.ask.limit - time.monotonic()
        if self.ask.idle_after_output is not None and self.spoke is not None:
            left = min(left, self.spoke + self.ask.idle_after_output - time.monotonic())
        return left

    def is_dead(self) -> bool:
        """Whether it is dead. It stays unreaped, so that its process group id cannot be given to a stranger."""
        if self.proc is None or self.proc.returncode is not None:
            return True
        if sys.platform == "win32" or not HAS_GROUPS:
            return self.proc.poll() is not None
        try:
            return os.waitid(os.P_PID, self.proc.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def await_death(self, seconds: float) -> bool:
        """Wait so long at most; whether it is dead. Its output is read on, else a child blocked on a full pipe could not handle SIGTERM."""
        until = time.monotonic() + seconds
        while not self.is_dead():
            left = until - time.monotonic()
            if left <= 0:
                return False
            wait([self], left)
            self.read()
        return True

    def signal_group(self, name: Literal["SIGTERM", "SIGKILL"]) -> None:
        """Send a signal to the process group; where there are none, end the child."""
        assert self.proc is not None
        if sys.platform == "win32" or not HAS_GROUPS:
            self.proc.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.proc.pid, getattr(signal, name))

    def release_guard(self) -> None:
        """Release the guard, the shell that kills the child's process group once this process is gone. Does nothing if there is
        none any more."""
        if self.guard is not None:
            self.guard.release()
            self.guard = None

    def close(self) -> None:
        """Take the last bytes, give back the descriptors, reap."""
        assert self.proc is not None
        self.read()
        for reader in self.readers:
            reader.join(JOIN)
        for pipe, _ in () if self.readers else self.pipes():
            pipe.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
        self.release_guard()
        self.ended = time.monotonic()
        if self.state == "abandoned":
            self.proc.returncode = -signal.SIGTERM  # Popen must not wait for it, nor complain: whoever inherits it will reap it.
        else:
            self.proc.wait()


def wait(children: Sequence[Child], timeout: float) -> None:
    """Sleep until a child prints or exits, at most `timeout` seconds; at most POLL seconds if a child has no pidfd, since its
    exit wakes nobody. Where there are no process groups (Windows) it sleeps the whole time."""
    if any(child.pidfd is None for child in children):
        timeout = min(timeout, POLL)
    if not HAS_GROUPS:
        time.sleep(max(timeout, 0.0))
        return
    with selectors.DefaultSelector() as selector:
        for child in children:
            for pipe, _ in child.pipes():
                selector.register(pipe, selectors.EVENT_READ)
            if child.pidfd is not None:
                selector.register(child.pidfd, selectors.EVENT_READ)
        selector.select(max(timeout, 0.0))


def kernel_wait(pid: int) -> str | None:
    """Where in the kernel a process sleeps uninterruptibly (state D), such as "amdgpu_mes_lock"; None if it does not."""
    try:
        folder = Path(f"/proc/{pid}")
        state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        return (folder / "wchan").read_text(errors="replace").strip() or "unknown" if state == "D" else None
    except (OSError, IndexError):
        return None


def _open_pidfd(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
