"""A wheel: a stored member is read inside the zip, a packed one is inflated into a temporary file that has no name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from rocm_doctor.binaries.audit import audit_paths
from rocm_doctor.binaries.inspect import Found, inspect, unreadable_holding
from rocm_doctor.binaries.listing import MAX_FILES
from rocm_doctor.binaries.names import library_name
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.view import View
from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.archives import damage, open_member, open_zip
from rocm_doctor.bounded.files import open_file

IN_MEMORY = 8 << 20
"""Bytes of an inflated member that need no file."""
MAX_RATIO = 200
"""Most inflated bytes for one packed byte. Libraries reach 10; zeros reach 1000."""
SMALL = 1 << 30
"""Bytes of a member that may have any ratio."""


def audit_wheel(wheel: Path, torch_hip: str | None = None) -> Audit:
    """GPU code in a wheel. Raises OSError, or Unreadable if it is not a zip."""
    with open_file(wheel) as file, open_zip(file) as archive:
        members = {info.filename: info for info in archive.infolist()[:MAX_FILES]}
        folders = {name.rsplit("/", 1)[0] + "/" for name in members if "/" in name}

        def read(name: str) -> tuple[Found | None, int]:
            return inspect_member(file, archive, members[name], library_name(name))

        return audit_paths(str(wheel), "wheel", [*members, *sorted(folders)], read, torch_hip or "", "")


def inspect_member(file: IO[bytes], archive: ZipFile, info: ZipInfo, library: str) -> tuple[Found | None, int]:
    """GPU code of one member of a zip."""
    try:
        with damage(), member_view(file, archive, info) as view:
            return inspect(view, library, info.filename), view.bytes_read
    except Unreadable as error:
        return (unreadable_holding(library, info.filename, f"zip: {error}"), None), 0


@contextmanager
def member_view(file: IO[bytes], archive: ZipFile, info: ZipInfo) -> Iterator[View]:
    """View of a member of a zip. Call it within `damage`."""
    if info.file_size > max(SMALL, MAX_RATIO * info.compress_size):
        raise Unreadable(f"packed to less than 1/{MAX_RATIO} of its size, which no library is")
    if info.compress_type == ZIP_STORED and not info.flag_bits & 1:
        file.seek(info.header_offset + 26)
        extra = file.read(4)
        start = info.header_offset + 30 + int.from_bytes(extra[:2], "little") + int.from_bytes(extra[2:], "little")
        yield View(file, start, info.file_size)
        return
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as unpacked, open_member(archive, info) as member:
        shutil.copyfileobj(member, unpacked, 1 << 20)
        yield View(cast("IO[bytes]", unpacked), 0, info.file_size)
