"""Files, folders, archives and streams as named bytes, with bounded memory and time for any input.

Links are not followed, nothing is unpacked to disk, and only ordinary files are opened for reading (see rocm_doctor/bounded).
"""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rocm_doctor.bounded import archives
from rocm_doctor.bounded.files import MIB, opened
from rocm_doctor.sources.paste.clean import decode

LIMIT = 32 * MIB
"""Bytes of one file that are read whole; of a longer one the head, and where it can be reached the tail."""
END = 8 * MIB
TOTAL = 96 * MIB
"""Bytes of a folder or an archive, which are all in memory at once: three logs of the longest kind."""
STREAM = 256 * MIB
"""Bytes after which a stream counts as one without an end; of it only both ends are kept."""
COUNT = 20_000
WANTED = "give a text file, a folder, or a .zip or .tar.gz of captured text"
Named = tuple[str, bytes]


class BundleError(Exception):
    """The input is not a readable bundle; the message names it and what to do."""


def members(path: Path) -> Iterator[Named]:
    """Names and bytes of what a folder, an archive or a single file holds.

    Raises Unreadable for what is damaged or not an ordinary file, BundleError for too much in all, OSError for what cannot be opened.
    """
    total = 0
    for count, (name, data) in enumerate(_of_folder(path) if path.is_dir() else _of_file(path), 1):
        total += len(data)
        if total > TOTAL:
            raise BundleError(f"{path}: more than {TOTAL // MIB} MiB in all; give the files of the capture only")
        if count > COUNT:
            raise BundleError(f"{path}: more than {COUNT} files; give the folder of the capture itself")
        yield name, data


def of_stream(stream: IO[bytes], name: str) -> bytes:
    """All of a stream whose end is not known, or its head and its tail. Raises BundleError for one that does not end."""
    head = stream.read(LIMIT + 1)
    if len(head) <= LIMIT:
        return head
    tail: deque[bytes] = deque(maxlen=END // MIB + 1)
    size = len(head)
    while chunk := stream.read(MIB):
        tail.append(chunk)
        size += len(chunk)
        if size > STREAM:
            raise BundleError(f"{name}: more than {STREAM // MIB} MiB; give the part around the first error")
    last = (head[END:] + b"".join(tail))[-END:]
    return _with_gap(head[:END], last, size)


def is_text(text: str) -> bool:
    """True if decoded bytes were text: terminal codes are, a flood of other control characters is not."""
    sample = text[: 1 << 16]
    return len(sample) - len(sample.translate(_NO_TEXT)) <= max(2, len(sample) // 20)


_NO_TEXT = dict.fromkeys((*range(0x20), 0x7F), "") | {ord(c): c for c in "\a\b\t\n\v\f\r\x1b"}


def _with_gap(head: bytes, tail: bytes, size: int) -> bytes:
    """Whole lines of both ends as UTF-8, and between them how much is missing."""
    mark = next((bom for bom in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if head.startswith(bom)), b"")
    first, last = decode(head), decode(mark + tail) if tail else ""
    first = first[: first.rfind("\n") + 1] or first
    last = last[last.find("\n") + 1 :]
    said = (
        f"rocm-doctor left out {(size - len(head) - len(tail)) / MIB:.1f} MiB here; line numbers from here on do not count them"
    )
    return f"{first}[{said}]\n{last}".encode("utf-8", "replace")


def _part(member: IO[bytes] | archives.Gunzipped, size: int) -> bytes:
    """A file of an archive: whole, or its head. `size` is what the archive says, in bytes, and only told."""
    data = archives.part(member, LIMIT + 1)
    return data if len(data) <= LIMIT else _with_gap(data[:END], b"", max(size, len(data)))


def _ends(file: IO[bytes]) -> bytes:
    """An ordinary file: whole, or its head and its tail."""
    size = os.fstat(file.fileno()).st_size
    if size <= LIMIT:
        return file.read(LIMIT)
    head = file.read(END)
    file.seek(size - END)
    return _with_gap(head, file.read(END), size)


def _of_folder(path: Path) -> Iterator[Named]:
    for folder, _, names in os.walk(path, followlinks=False):
        for file in (Path(folder) / name for name in names):
            if file.is_file() and not file.is_symlink():
                with opened(file) as handle:
                    yield archives.safe_name(file.relative_to(path).as_posix()), _ends(handle)


def _of_file(path: Path) -> Iterator[Named]:
    with opened(path) as file:
        head = file.read(512)
        file.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _of_zip(file)
        elif head.startswith(b"\x1f\x8b"):
            yield from _of_gzip(path.name.removesuffix(".gz"), file)
        elif _is_tar(head):
            yield from _of_tar(file, packed=False)
        else:
            yield archives.safe_name(path.name), _ends(file)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _of_zip(file: IO[bytes]) -> Iterator[Named]:
    with archives.zip_of(file) as archive:
        for info in archive.infolist():
            if not info.filename.endswith("/"):
                with archives.zip_member(archive, info) as member:
                    data = _part(member, info.file_size)
                yield archives.safe_name(info.filename), data


def _of_gzip(name: str, file: IO[bytes]) -> Iterator[Named]:
    """A packed tar, or a single compressed text (`dmesg.txt.gz`)."""
    tar = _is_tar(archives.part(archives.Gunzipped(file), 512))
    file.seek(0)
    if tar:
        yield from _of_tar(file, packed=True)
    else:
        yield archives.safe_name(name), _part(archives.Gunzipped(file), 0)


def _of_tar(file: IO[bytes], *, packed: bool) -> Iterator[Named]:
    for info, member in archives.tar_members(file, packed=packed):
        yield archives.safe_name(info.name), _part(member, info.size)
