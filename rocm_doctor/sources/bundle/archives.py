"""Files, folders, archives and streams as named bytes, with bounded memory and time for any input.

Links are not followed, nothing is unpacked to disk, and only ordinary files are opened for reading (see rocm_doctor/bounded).
"""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from rocm_doctor.bounded import archives
from rocm_doctor.bounded.files import MIB, open_file
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.sources.paste.clean import decode

LIMIT = 12 * MIB
"""Bytes of one file that are read whole; of a longer one the head, and where it can be reached the tail. 110,000 lines of a log."""
END = 6 * MIB
LINES = 400_000
"""Lines of the same: a list of more takes more memory than their letters."""
TOTAL = 12 * MIB
"""Bytes of a folder or an archive, which are all in memory at once: whatever they hold is judged and redacted in 10 s and 300 MiB."""
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
    for count, (name, data) in enumerate(_read_folder(path) if path.is_dir() else _read_file(path), 1):
        total += len(data)
        if total > TOTAL:
            raise BundleError(f"{path}: more than {TOTAL // MIB} MiB in all; give the files of the capture only")
        if count > COUNT:
            raise BundleError(f"{path}: more than {COUNT} files; give the folder of the capture itself")
        yield name, data


def read_to_end(stream: IO[bytes], name: str) -> bytes:
    """All of a stream whose end is not known; of over 12 MiB its first and last 6 MiB. Raises BundleError for over 256 MiB."""
    data, _, ended = _both_ends(stream.read, STREAM)
    if not ended:
        raise BundleError(f"{name}: more than {STREAM // MIB} MiB; give the part around the first error")
    return data


def _both_ends(read: Callable[[int], bytes], most: int) -> tuple[bytes, int, bool]:
    """(bytes, size, whole): all that `read` gives; of more than LIMIT bytes its head and its tail. `whole` is False if there is
    more than `most`: then the tail is lost."""
    head = b"".join(_steps(read, LIMIT + 1))
    if len(head) <= LIMIT:
        return head, len(head), True
    tail: deque[bytes] = deque(maxlen=-(-END // MIB) + 2)  # the last two are short: a part, and the empty end
    size, ended = len(head), False
    while size <= most and not ended:
        chunk = read(MIB)
        ended = not chunk
        tail.append(chunk)
        size += len(chunk)
    last = (head[END:] + b"".join(tail))[-END:] if ended else b""
    return _join_ends(head[:END], last, size), size, ended


def _steps(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    while most > 0 and (chunk := read(min(MIB, most))):
        most -= len(chunk)
        yield chunk


def to_text(data: bytes) -> str:
    """The bytes as text, in a shape that takes little memory: of very many lines both ends, of a long text no letters beyond U+FFFF.

    For the sake of one emoji Python holds four bytes for every letter of a text.
    """
    text = decode(data)
    if len(text) > END // 2 and _BEYOND.search(text):
        text = _BEYOND.sub("\ufffd", text)
    if text.count("\n") <= LINES:
        return text
    first, last = 0, len(text)
    for _ in range(LINES // 2):
        first, last = text.find("\n", first) + 1, text.rfind("\n", 0, last)
    return f"{text[:first]}{_gap(len(text) - first - (len(text) - last - 1))}{text[last + 1 :]}"


_BEYOND = regex("[\U00010000-\U0010ffff]")


def is_text(text: str) -> bool:
    """True if decoded bytes were text: terminal codes are, a flood of other control characters is not."""
    sample = text[: 1 << 16]
    return len(sample) - len(sample.translate(_NO_TEXT)) <= max(2, len(sample) // 20)


_NO_TEXT = dict.fromkeys((*range(0x20), 0x7F), "") | {ord(c): c for c in "\a\b\t\n\v\f\r\x1b"}


def _join_ends(head: bytes, tail: bytes, size: int) -> bytes:
    """Whole lines of both ends as UTF-8, and between them how much is missing."""
    mark = next((bom for bom in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if head.startswith(bom)), b"")
    first, last = decode(head), decode(mark + tail) if tail else ""
    first = first[: first.rfind("\n") + 1] or first
    last = last[last.find("\n") + 1 :]
    return f"{first}{_gap(size - len(head) - len(tail))}{last}".encode("utf-8", "replace")


def _gap(left_out: int) -> str:
    return f"[rocm-doctor left out {left_out / MIB:.1f} MiB here; line numbers from here on do not count them]\n"


def _ends(file: IO[bytes]) -> bytes:
    """An ordinary file: whole, or its head and its tail."""
    size = os.fstat(file.fileno()).st_size
    if size <= LIMIT:
        return file.read(LIMIT)
    head = file.read(END)
    file.seek(size - END)
    return _join_ends(head, file.read(END), size)


class _Members:
    """Files of an archive, whole or their ends, as long as what is inflated for that stays within bounds; then their heads."""

    def __init__(self) -> None:
        self._left = archives.INFLATED

    def part(self, member: IO[bytes] | archives.Sips) -> bytes:
        """What is kept of this one. Raises Unreadable for damage."""
        data, size, _ = _both_ends(partial(archives.part, member), self._left)
        self._left = max(0, self._left - size)
        return data


def _read_folder(path: Path) -> Iterator[Named]:
    for folder, _, names in os.walk(path, followlinks=False):
        for file in (Path(folder) / name for name in names):
            if file.is_file() and not file.is_symlink():
                with open_file(file) as handle:
                    yield archives.safe_name(file.relative_to(path).as_posix()), _ends(handle)


def _read_file(path: Path) -> Iterator[Named]:
    with open_file(path) as file:
        head = file.read(512)
        file.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _read_zip(file)
        elif head.startswith(b"\x1f\x8b"):
            yield from _read_gzip(path.name.removesuffix(".gz"), file)
        elif _is_tar(head):
            yield from _read_tar(file, packed=False)
        else:
            yield archives.safe_name(path.name), _ends(file)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _read_zip(file: IO[bytes]) -> Iterator[Named]:
    members = _Members()
    with archives.open_zip(file) as archive:
        for info in archive.infolist():
            if not info.filename.endswith("/"):
                with archives.zip_member(archive, info) as member:
                    data = members.part(member)
                yield archives.safe_name(info.filename), data


def _read_gzip(name: str, file: IO[bytes]) -> Iterator[Named]:
    """A packed tar, or a single compressed text (`dmesg.txt.gz`)."""
    tar = _is_tar(archives.part(archives.gunzip(file), 512))
    file.seek(0)
    if tar:
        yield from _read_tar(file, packed=True)
    else:
        yield archives.safe_name(name), _Members().part(archives.gunzip(file))


def _read_tar(file: IO[bytes], *, packed: bool) -> Iterator[Named]:
    members = _Members()
    for info, member in archives.tar_members(file, packed=packed):
        yield archives.safe_name(info.name), members.part(member)
