"""What ends a child together with the process that started it, in whatever way that one dies."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SHELL = "/bin/sh"
_GUARDING = 'read -r group && { read -r ended || kill -9 "-$group"; }'


class Guard(NamedTuple):
    """A shell that waits for a line with the group of a child, then for the end of its input: its pid, and our end of the pipe."""

    pid: int
    pipe: int

    def name(self, group: int) -> None:
        self._write(str(group))

    def name_own(self) -> None:
        """Called by the child before its program starts. Until then it holds the pipe open, so the group is named even if the parent
        dies in between."""
        self.name(os.getpid())

    def release(self) -> None:
        """End the guard of a child that has ended, before the group's number can be given to a stranger."""
        self._write("ended")
        os.close(self.pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _write(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self.pipe, f"{line}\n".encode())


def guard() -> Guard | None:
    """A guard that has no group yet; None where no shell can be started. A child leads a session of its own, so nothing else
    would end it with us: `timeout 20 rocm-doctor check` must leave nothing behind."""
    if sys.platform == "win32" or not os.access(_SHELL, os.X_OK):
        return None
    theirs, ours = os.pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, out, os.devnull, os.O_WRONLY, 0) for out in (1, 2)]
    try:
        # Without our own environment: a BASH_ENV or LD_PRELOAD that breaks a tool must not break its guard.
        argv = [_SHELL, "-c", _GUARDING]
        pid = os.posix_spawn(_SHELL, argv, {}, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0), *quiet], setpgroup=0)
    except OSError:
        os.close(ours)
        return None
    finally:
        os.close(theirs)
    return Guard(pid, ours)


def single_threaded() -> bool:
    """Whether this process has one thread. Python code in a forked child of a process with more, such as torch, can deadlock: there the
    parent names the group, and a SIGKILL of the parent within that millisecond leaves the child running."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold back SIGINT, SIGTERM and SIGHUP to the end of the block: a child that is not recorded yet would not be ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    names = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    # A handler that was not set from Python (None) cannot be put back.
    before = {n: signal.signal(n, lambda number, _: waiting.append(number)) for n in names if callable(signal.getsignal(n))}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


def find_escaped(pid: int) -> list[int]:
    """Process ids of the descendants of `pid`, which must lead its group, that are in another group (`setsid`); empty if it is
    gone."""
    import psutil

    escaped = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(OSError):
                escaped += [child.pid] if os.getpgid(child.pid) != pid else []
    return escaped
