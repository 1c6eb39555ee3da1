"""The surroundings of a smoke test: new lines of the kernel log, processes that outlive their parent."""

from __future__ import annotations

import contextlib
import os
from collections import deque

from rocm_doctor.bounded import files

KMSG = "/dev/kmsg"
MARK = "ROCM_DOCTOR_SMOKE"
"""Environment variable that marks all descendants of one smoke test."""


class KernelLog:
    """The kernel log from now on; nothing where this user must not read it."""

    def __init__(self, path: str = KMSG) -> None:
        self.descriptor: int | None = None
        with contextlib.suppress(OSError):
            self.descriptor = files.open_kernel_log(path)
            os.lseek(self.descriptor, 0, os.SEEK_END)

    def new_lines(self, most: int = 40) -> list[str]:
        """Messages since the last call, the latest `most` of them."""
        latest: deque[str] = deque(maxlen=most)
        with contextlib.suppress(OSError):
            for _, message in files.kernel_messages(self.descriptor) if self.descriptor is not None else ():
                latest.append(message)
        return list(latest)

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
