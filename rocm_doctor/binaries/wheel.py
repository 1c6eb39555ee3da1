"""A wheel, read inside its zip: members are inflated as they are read, and nothing is unpacked to disk."""

from __future__ import annotations

from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from rocm_doctor.binaries.audit import Progress, audit_paths
from rocm_doctor.binaries.inspect import Found, inspect, unreadable_holding
from rocm_doctor.binaries.listing import MAX_FILES
from rocm_doctor.binaries.names import library_of
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.view import Overread, Slice, View
from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.archives import damage, open_member, zip_of
from rocm_doctor.bounded.files import open_file

TAIL = 4 << 20
STEP = 1 << 20
LOOK_BACK = 64 << 10
MAX_PASSES = 8
MAX_RATIO = 200
"""Most inflated bytes for one packed byte. Libraries reach 10; zeros reach 1000, at a minute for each GiB of a few passes."""
SMALL = 1 << 30
"""Bytes of a member that may have any ratio."""


def audit_wheel(wheel: Path, torch_hip: str | None = None, progress: Progress | None = None) -> Audit:
    """GPU code in a wheel; members are inflated as they are read. Raises OSError, or Unreadable if it is not a zip."""
    with open_file(wheel) as file, zip_of(file) as archive:
        members = {info.filename: info for info in archive.infolist()[:MAX_FILES]}
        folders = {name.rsplit("/", 1)[0] + "/" for name in members if "/" in name}

        def read(name: str) -> tuple[Found | None, int]:
            return inspect_member(file, archive, members[name], library_of(name))

        return audit_paths(str(wheel), "wheel", [*members, *sorted(folders)], read, torch_hip or "", "", progress)


def inspect_member(file: IO[bytes], archive: ZipFile, info: ZipInfo, library: str) -> tuple[Found | None, int]:
    """GPU code of one member of a zip, which stays packed."""
    try:
        with damage():
            view = member_view(file, archive, info)
            return inspect(view, library, info.filename), view.bytes_read
    except Unreadable as error:
        return (unreadable_holding(library, info.filename, f"zip: {error}"), None), 0


def member_view(file: IO[bytes], archive: ZipFile, info: ZipInfo) -> View:
    """View of a member of a zip that stays packed. Call it within `damage`."""
    if info.file_size > max(SMALL, MAX_RATIO * info.compress_size):
        raise Unreadable(f"packed to less than 1/{MAX_RATIO} of its size, which no library is")
    if info.compress_type != ZIP_STORED or info.flag_bits & 1:
        return View(Inflated(archive, info), info.file_size)
    file.seek(info.header_offset + 26)
    extra = file.read(4)
    start = info.header_offset + 30 + int.from_bytes(extra[:2], "little") + int.from_bytes(extra[2:], "little")
    return View(Slice(file, start, info.file_size), info.file_size)


class Inflated:
    """A deflated zip member, not unpacked: head and tail are kept, the middle is inflated again on demand.

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
            raise Overread(f"inflated more than {MAX_PASSES} times")
        self._stream, self._kept, self._at = open_member(self._archive, self._info), b"", 0

    def _advance(self, keep: int) -> bool:
        """Inflate the next piece and keep at most `keep` bytes before it. False at the end."""
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
