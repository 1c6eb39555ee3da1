"""Ordinary files only: a FIFO without a writer or a device without an end would hold the doctor for ever."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rocm_doctor.bounded import Unreadable

MIB = 1 << 20
LIMIT = 32 * MIB
"""Bytes of a file that is parsed whole: ten times the report of a machine with 64 GPUs."""


def open_file(path: Path) -> IO[bytes]:
    """The file, open for reading. Raises OSError, or Unreadable for what is not an ordinary file."""
    file = open(path, "rb", 1 << 17, opener=_open_nonblocking)  # noqa: SIM115 the caller closes it; Path.open takes no opener
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Unreadable("not an ordinary file")
    return file


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_kernel_log(path: Path | str) -> int:
    """The descriptor of /dev/kmsg, whose reads do not wait. Raises OSError."""
    return _open_nonblocking(os.fspath(path), os.O_RDONLY)


def kernel_messages(descriptor: int, limit: int = 1 << 22) -> Iterator[tuple[str, str]]:
    """The head (`6,339,5140900,-`: priority, number, microseconds, flags) and the message of each record that is left in /dev/kmsg, up to
    `limit` bytes. Raises OSError.

    A read gives one record of at most 8192 bytes (Documentation/ABI/testing/dev-kmsg); a file in place of the device may hold many.
    """
    size = 0
    while size < limit:
        try:
            data = os.read(descriptor, 8192)
        except BlockingIOError:
            return
        except BrokenPipeError:  # records were overwritten before they were read: continue with the oldest one left
            continue
        if not data:
            return
        size += len(data)
        for line in data.decode("utf-8", "replace").splitlines():
            head, semicolon, message = line.partition(";")
            if semicolon and not line.startswith(" "):  # ` KEY=value` lines follow a message
                yield head, message


def read(path: Path, limit: int = LIMIT) -> bytes:
    """All bytes of the file. Raises OSError, or Unreadable when there are more than `limit`."""
    with open_file(path) as file:
        data = b"" if os.fstat(file.fileno()).st_size > limit else file.read(limit + 1)
        size = os.fstat(file.fileno()).st_size if not data else len(data)
    if size > limit:
        raise Unreadable(f"{size / MIB:.0f} MiB, more than the {limit // MIB} MiB that are read")
    return data


def head(path: Path, limit: int) -> bytes:
    """The first bytes of the file. Raises OSError, or Unreadable for what is not an ordinary file."""
    with open_file(path) as file:
        return file.read(limit)


def is_utf8(name: str) -> bool:
    """Whether a file's name is UTF-8. Python replaces other bytes by halves of surrogate pairs."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def text(path: Path, limit: int = LIMIT) -> str:
    """All of a UTF-8 text, with or without a byte order mark. Raises OSError or Unreadable."""
    data = read(path, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Unreadable("not UTF-8", data.count(b"\n", 0, exc.start) + 1) from exc
