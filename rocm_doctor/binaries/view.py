"""A bounded view of something that holds bytes: a file, a stored zip member, or a deflated one that is inflated as it is read.

Third-party readers get this instead of the file. It counts what is read and stops a reader that a damaged file sends in circles.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Protocol
from zipfile import ZIP_STORED, ZipFile, ZipInfo

READ_LIMIT = 64 << 20
BLOCK = 4 << 10
MAX_BLOCKS = 64
TAIL = 4 << 20
STEP = 1 << 20
LOOK_BACK = 64 << 10
MAX_PASSES = 8


class Overread(Exception):
    """A reader asked for more than `READ_LIMIT` bytes of one file, or went over a deflated member too often."""


class Source(Protocol):
    """Random access to bytes; short at the end, never an error for an offset past it."""

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


class Inflated:
    """A deflated zip member without unpacking it: head and tail are kept, the middle is inflated again when it is asked for.

    An ELF file names its sections at its end, so the first pass runs to the end; reads in ascending order then cost one more.
    """

    def __init__(self, archive: ZipFile, info: ZipInfo) -> None:
        self._archive, self._info, self._passes = archive, info, 0
        self._restart()
        while self._advance(TAIL):
            pass
        self._tail, self._tail_at = self._kept, self._at
        self._restart()
        self._advance(0)
        self._head = self._kept

    def _restart(self) -> None:
        self._passes += 1
        if self._passes > MAX_PASSES:
            raise Overread(f"had to be inflated more than {MAX_PASSES} times")
        self._stream, self._kept, self._at = self._archive.open(self._info), b"", 0

    def _advance(self, keep: int) -> bool:
        """Inflate the next piece; of what came before it keep at most `keep` bytes. False at the end."""
        piece = self._stream.read(STEP)
        if piece:
            drop = max(0, len(self._kept) - keep)
            self._kept, self._at = self._kept[drop:] + piece, self._at + drop
        return bool(piece)

    def at(self, offset: int, size: int) -> bytes:
        if offset + size <= len(self._head):
            return self._head[offset : offset + size]
        if offset >= self._tail_at:
            return self._tail[offset - self._tail_at :][:size]
        if offset < self._at:
            self._restart()
        while self._at + len(self._kept) < offset + size and self._advance(LOOK_BACK):
            pass
        return self._kept[offset - self._at :][:size]


class View:
    """What the readers read from: `at` for us, `seek`/`read`/`tell` for pyelftools. Sizes in bytes."""

    def __init__(self, source: Source, size: int, limit: int = READ_LIMIT) -> None:
        self.size, self.bytes_read = size, 0
        self._source, self._limit, self._pos = source, limit, 0
        self._blocks: dict[int, bytes] = {}

    def at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; raises Overread once more than the limit was read in all."""
        if offset < 0 or size <= 0 or offset >= self.size:
            return b""
        size = min(size, self.size - offset)
        if self.bytes_read + size > self._limit:
            raise Overread(f"more than {self._limit >> 20} MiB asked for")
        data = self._source.at(offset, size)
        self.bytes_read += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._pos = offset + (0, self._pos, self.size)[whence]
        return self._pos

    def tell(self) -> int:
        return self._pos

    def read(self, size: int = -1) -> bytes:
        """As a file's. pyelftools asks for single fields here and there: its small reads come from a few blocks that are kept."""
        size = self.size - self._pos if size < 0 else size
        first, last = self._pos // BLOCK, (self._pos + size - 1) // BLOCK
        if last - first > 1 or size == 0:
            data = self.at(self._pos, size)
        else:
            skip = self._pos - first * BLOCK
            data = b"".join(self._kept(n) for n in range(first, last + 1))[skip : skip + size]
        self._pos += len(data)
        return data

    def _kept(self, number: int) -> bytes:
        if number not in self._blocks:
            if len(self._blocks) >= MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = self.at(number * BLOCK, BLOCK)
        return self._blocks[number]


def file_view(handle: IO[bytes], path: Path) -> View:
    """View of a whole file that was opened unbuffered."""
    size = path.stat().st_size
    return View(Slice(handle, 0, size), size)


def member_view(archive: ZipFile, info: ZipInfo) -> View:
    """View of a member of a zip that stays packed. Raises zipfile.BadZipFile, zlib.error or OSError on a damaged one."""
    if info.compress_type != ZIP_STORED or info.flag_bits & 1:
        return View(Inflated(archive, info), info.file_size)
    handle = archive.fp
    if handle is None:
        raise ValueError("closed archive")
    handle.seek(info.header_offset + 26)
    extra = handle.read(4)
    start = info.header_offset + 30 + int.from_bytes(extra[:2], "little") + int.from_bytes(extra[2:], "little")
    return View(Slice(handle, start, info.file_size), info.file_size)
