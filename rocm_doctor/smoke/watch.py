"""The surroundings of a smoke test: new lines of the kernel log, memory of a child, processes that outlive their parent."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

KMSG = "/dev/kmsg"
KMSG_RECORD = 8192
"""Bytes. The kernel returns one record per read, at most this long (Documentation/ABI/testing/dev-kmsg)."""
MARK = "ROCM_DOCTOR_SMOKE"
"""Environment variable that marks all descendants of one smoke test."""


class KernelLog:
    """The kernel log from now on. `denied`: this user must not read it."""

    def __init__(self, path: str = KMSG) -> None:
        self.descriptor: int | None = None
        self.denied = False
        try:
            self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            os.lseek(self.descriptor, 0, os.SEEK_END)
        except PermissionError:
            self.denied = True
        except OSError:
            pass

    def new_lines(self, most: int = 40) -> list[str]:
        """Messages since the last call, the latest `most` of them."""
        return [*self._records()][-most:]

    def _records(self) -> Iterator[str]:
        while self.descriptor is not None:
            try:
                record = os.read(self.descriptor, KMSG_RECORD)
            except BrokenPipeError:  # records were overwritten before we read them: continue with the oldest one left
                continue
            except OSError:
                return
            if not record:
                return
            # "6,339,5140900,-;message\n KEY=value ..."; a file in place of the device may hold many.
            for line in record.decode("utf-8", "replace").splitlines():
                if not line.startswith(" ") and ";" in line:
                    yield line.partition(";")[2]

    def close(self) -> None:
        """Close the kernel log."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def resident_bytes(pid: int) -> int | None:
    """System memory of a process in bytes; None if /proc does not have it."""
    try:
        found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(errors="replace"), re.M)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def find_marked(token: str) -> list[int]:
    """Processes with this smoke test's mark in their environment, in whatever session."""
    needle, found = f"{MARK}={token}".encode(), []
    for folder in Path("/proc").glob("[1-9]*"):
        with contextlib.suppress(OSError):
            if int(folder.name) != os.getpid() and needle in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_marked(token: str) -> list[str]:
    """The remaining processes of a smoke test, killed, as "pid name"."""
    ended = []
    for pid in find_marked(token):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
            os.kill(pid, signal.SIGKILL)
            ended.append(f"{pid} {name}")
    return ended
