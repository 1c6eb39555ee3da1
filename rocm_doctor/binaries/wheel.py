"""A wheel: each library in it is inflated into a temporary file that has no name."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO, cast

from rocm_doctor.binaries.audit import audit_paths
from rocm_doctor.binaries.inspect import Found, inspect, unreadable_holding
from rocm_doctor.binaries.listing import MAX_FILES
from rocm_doctor.binaries.names import library_name
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.view import View
from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.archives import open_zip, zip_member
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

        def read(name: str) -> Found | None:
            info, library = members[name], library_name(name)
            try:
                if info.file_size > max(SMALL, MAX_RATIO * info.compress_size):
                    raise Unreadable(f"packed to less than 1/{MAX_RATIO} of its size, which no library is")
                with tempfile.SpooledTemporaryFile(IN_MEMORY) as unpacked, zip_member(archive, info) as member:
                    shutil.copyfileobj(member, unpacked, 1 << 20)
                    return inspect(View(cast("IO[bytes]", unpacked), info.file_size), library, name)
            except Unreadable as error:
                return unreadable_holding(library, name, f"zip: {error}"), None

        return audit_paths(str(wheel), "wheel", list(members), read, torch_hip or "", "")
