"""The surroundings of a smoke test: new lines of the kernel log, processes that outlive their parent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

KMSG = "/dev/kmsg"
KMSG_RECORD = 8192
"""Bytes. The kernel returns one record per read, at most this long (Documentation/ABI/testing/dev-kmsg)."""
MARK = "ROCM_DOCTOR_SMOKE"
"""Environment variable that marks all descendants of one smoke test."""


class KernelLog:
    """The kernel log from now on; nothing where this user must not read it."""

    def __init__(self, path: str = KMSG) -> None:
        self.descriptor: int | None = None
        with contextlib.suppress(OSError):
            self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            os.lseek(self.descriptor, 0, os.SEEK_END)

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
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def end_marked(token: str) -> list[str]:
    """Kill the remaining processes with this smoke test's mark in their environment, in whatever session; each as "pid name"."""
    import psutil

    ended = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == token:
                name = process.name()
                process.kill()
                ended.append(f"{process.pid} {name}")
    return ended
