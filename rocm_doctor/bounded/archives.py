"""Members of zip, tar and gzip files, inflated only as far as they are read.

The libraries below us keep some pieces whole that the archive may make as large as it likes: a zip's directory, a tar's extended
headers, a block of bzip2 or LZMA. `Sips` refuses to hand them out, and members of the last two kinds are not opened.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.files import MIB
from rocm_doctor.bounded.texts import printable

if TYPE_CHECKING:
    import tarfile
    import zipfile

SIP = 8 * MIB
"""Bytes that a library may ask for at once. The directory of a zip with 60,000 names is 6 MiB."""
HEADER = MIB // 4
"""The same within a tar, whose longest honest header (a path, SELinux labels, an ACL) is 64 KiB."""
INFLATED = 512 * MIB
"""Bytes inflated from one archive, those that are skipped included: 2 s."""
MEMBERS = 40_000
"""Members of one archive, folders included: 1 s of tar headers."""
_STEP = 1 << 16


class Sips(io.RawIOBase):
    """A file that reads at most `sip` bytes at a time. Raises Unreadable when a read would give more, and beyond `most` bytes,
    which count those that `seek` skips."""

    def __init__(self, file: IO[bytes], sip: int = SIP, most: int | None = None) -> None:
        self._file, self._sip, self._most = file, sip, most

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if 0 <= size <= self._sip else self._sip + 1)
        if len(data) > self._sip:
            raise Unreadable(f"a header of more than {self._sip / MIB:g} MiB")
        if self._most is not None and self._file.tell() > self._most:
            raise Unreadable(f"more than {self._most // MIB} MiB inflated")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        while self._most is not None and not whence and self.read(min(_STEP, max(0, offset - self._file.tell()))):
            pass
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def gunzip(file: IO[bytes], sip: int = SIP) -> Sips:
    """The inflated bytes of a gzip file, forwards only; the caller reads within `damage`."""
    import gzip

    return Sips(cast("IO[bytes]", gzip.GzipFile(fileobj=file)), sip, INFLATED)


@contextmanager
def damage() -> Iterator[None]:
    """Turn what the archive libraries raise for damaged bytes into Unreadable. They raise whatever their steps do (IndexError,
    UnicodeDecodeError, struct.error, EOFError), so the kind says nothing."""
    try:
        yield
    except (Unreadable, MemoryError):
        raise
    except Exception as exc:
        raise Unreadable(f"damaged ({exc or type(exc).__name__})") from exc


@contextmanager
def open_zip(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """The zip, open for reading. Raises Unreadable when its directory is damaged, too large, or has too many members."""
    import zipfile

    with damage():
        archive = zipfile.ZipFile(Sips(file))
    with archive:
        if len(archive.filelist) > MEMBERS:
            raise Unreadable(f"more than {MEMBERS} members")
        yield archive


@contextmanager
def zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """A member, open for reading. Raises Unreadable, also while it is read, for damage and for what cannot be inflated in
    steps."""
    with damage():
        if info.compress_type not in (0, 8):
            raise Unreadable(f"{printable(info.filename)}: compressed by method {info.compress_type}; only deflate is read")
        with archive.open(info) as member:
            yield member


def tar_members(file: IO[bytes], *, packed: bool) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """(member, file) for each regular file of a tar; the file can be read until the next is asked for. Sparse files are left out.
    `packed`: it is a .tar.gz. Raises Unreadable for damage, and for more than MEMBERS members; the caller reads within
    `damage`."""
    import tarfile

    stream = gunzip(file, HEADER) if packed else Sips(file, HEADER)
    with damage():
        archive = tarfile.TarFile(fileobj=stream)
        for count, info in enumerate(iter(archive.next, None), 1):
            if count > MEMBERS:
                raise Unreadable(f"more than {MEMBERS} members")
            member = archive.extractfile(info) if info.isreg() and not info.issparse() else None
            if member is not None:
                yield info, member


def part(member: IO[bytes] | Sips, most: int) -> bytes:
    """The first `most` bytes of a member, read in steps. Raises Unreadable for damage."""
    parts: list[bytes] = []
    with damage():
        while most > 0 and (piece := member.read(min(_STEP, most))):
            parts.append(piece)
            most -= len(piece)
    return b"".join(parts)


def safe_name(name: str) -> str:
    """A member's name as a relative path: no control characters, no drive, no way up, never empty."""
    parts = [part for part in printable(name).replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[:500] or "unnamed"
