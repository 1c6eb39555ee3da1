"""A bounded view of bytes: it counts what is read, and stops a reader that a damaged file makes loop."""

from __future__ import annotations

from typing import IO

READ_LIMIT = 64 << 20


class Overread(Exception):
    """A reader requested more than `READ_LIMIT` bytes of one file."""


class View:
    """The `size` bytes of an open file."""

    def __init__(self, handle: IO[bytes], size: int, limit: int = READ_LIMIT) -> None:
        self.size, self.bytes_read = size, 0
        self._handle, self._limit = handle, limit

    def at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`: fewer at the end, none past it. Raises Overread above the limit of all reads together."""
        size = min(size, self.size - offset)
        if offset < 0 or size <= 0:
            return b""
        if self.bytes_read + size > self._limit:
            raise Overread(f"more than {self._limit >> 20} MiB requested")
        self._handle.seek(offset)
        data = self._handle.read(size)
        self.bytes_read += len(data)
        return data
