"""A bounded view of bytes: a file, a stored zip member, or a deflated one that is inflated as it is read.

Third-party readers get this instead of the file. It counts bytes and stops a reader that a damaged file makes loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Protocol

READ_LIMIT = 64 << 20
BLOCK = 4 << 10
MAX_BLOCKS = 64


class Overread(Exception):
    """A reader requested more than `READ_LIMIT` bytes of one file, or too many passes over a deflated member."""


class Source(Protocol):
    """Random access to bytes: fewer at the end, none past it, never an error."""

    def at(self, offset: int, size: int) -> bytes: ...


class Slice:
    """`size` bytes of an open file from `start` on: a whole file, or a stored member of a zip."""

    def __init__(self, handle: IO[bytes], start: int, size: int) -> None:
        self._handle, self._start, self._size = handle, start, size

    def at(self, offset: int, size: int) -> bytes:
        size = min(size, self._size - offset)
        if size <= 0:
            return b""
        self._handle.seek(self._start + offset)
        return self._handle.read(size)


class View:
    """The view itself: `at` for our readers, `seek`/`read`/`tell` for pyelftools. Sizes in bytes."""

    def __init__(self, source: Source, size: int, limit: int = READ_LIMIT) -> None:
        self.size, self.bytes_read = size, 0
        self._source, self._limit, self._pos = source, limit, 0
        self._blocks: dict[int, bytes] = {}

    def at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; raises Overread above the total limit."""
        if offset < 0 or size <= 0 or offset >= self.size:
            return b""
        size = min(size, self.size - offset)
        if self.bytes_read + size > self._limit:
            raise Overread(f"more than {self._limit >> 20} MiB requested")
        data = self._source.at(offset, size)
        self.bytes_read += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._pos = offset + (0, self._pos, self.size)[whence]
        return self._pos

    def tell(self) -> int:
        return self._pos

    def read(self, size: int = -1) -> bytes:
        """Bytes as from a file. pyelftools reads single fields in random order: small reads come from a few cached blocks."""
        size = self.size - self._pos if size < 0 else size
        first, last = self._pos // BLOCK, (self._pos + size - 1) // BLOCK
        if last - first > 1 or size == 0:
            data = self.at(self._pos, size)
        else:
            skip = self._pos - first * BLOCK
            data = b"".join(self._read_block(n) for n in range(first, last + 1))[skip : skip + size]
        self._pos += len(data)
        return data

    def _read_block(self, number: int) -> bytes:
        if number not in self._blocks:
            if len(self._blocks) >= MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = self.at(number * BLOCK, BLOCK)
        return self._blocks[number]


def file_view(handle: IO[bytes], path: Path) -> View:
    """View of a whole file that was opened unbuffered."""
    size = path.stat().st_size
    return View(Slice(handle, 0, size), size)
