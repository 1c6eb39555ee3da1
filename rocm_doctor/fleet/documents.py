"""What `fleet judge` is given, cut into documents: folders, JSON lines, standard input, gzip. Every reader is bounded.

A document is a line that is one JSON value, the lines of an indented one (as `check --format json` prints it), or the pieces of one as
`fleet node` prints them (pieces.py). A document that is too large or not whole is a `Refused`, and the next one is read all the same.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Union, cast

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.archives import Gunzipped
from rocm_doctor.bounded.files import opened
from rocm_doctor.fleet.pieces import Joiner
from rocm_doctor.reports.json import LIMIT

INFLATED = 64 << 30
"""Bytes inflated from one gzip file: 500,000 reports."""
_SIP = 1 << 20


class Document(NamedTuple):
    """One JSON value, and where it was read; `host`: the node that an engine says it came from."""

    where: str
    body: bytes
    host: str = ""


class Refused(NamedTuple):
    """A document that cannot be judged, and why."""

    where: str
    why: str
    host: str = ""


Read = Union[Document, Refused]


def documents(paths: Iterable[Path], stdin: IO[bytes]) -> Iterator[Read]:
    """The documents of all paths; `-` is standard input. Raises OSError for a path that does not exist."""
    for path in paths:
        if str(path) == "-":
            yield from _of_stream(stdin, "standard input")
        elif path.is_dir():
            for file in sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith(".")):
                yield from _of_file(file, str(file.relative_to(path)))
        else:
            yield from _of_file(path, path.name)


def _of_file(path: Path, name: str) -> Iterator[Read]:
    try:
        with opened(path) as file:
            yield from _of_stream(file, name)
    except Unreadable as exc:
        yield Refused(name, str(exc))


def _of_stream(stream: IO[bytes], name: str) -> Iterator[Read]:
    buffered: Any = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("Any", stream))
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    source: IO[bytes] = io.BufferedReader(cast("Any", Gunzipped(buffered, INFLATED)), _SIP) if packed else buffered
    pieces = Joiner()
    try:
        for where, body in _cut(_lines(source), name):
            if body is None:
                yield Refused(where, f"more than {LIMIT >> 20} MiB")
            elif (taken := pieces.take(body)) is None:
                yield Document(where, body)
            elif taken.refused:
                yield Refused(where, taken.refused, taken.host)
            elif taken.whole:
                yield Document(taken.host, taken.whole, taken.host)
    except Unreadable as exc:
        yield Refused(name, str(exc))
    yield from (Refused(name, why, host) for host, why in pieces.unfinished())


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """The lines; None for one that is longer than a report may be."""
    while line := source.readline(LIMIT + 1):
        if len(line) <= LIMIT:
            yield line
            continue
        yield None
        while not line.endswith(b"\n") and (line := source.readline(LIMIT + 1)):
            pass


def _cut(lines: Iterable[bytes | None], name: str) -> Iterator[tuple[str, bytes | None]]:
    """Documents with the place of their first line."""
    parts: list[bytes] = []
    size = first = 0
    for number, line in enumerate(lines, 1):
        if line is None:
            parts, size = [], 0
            yield f"{name}:{number}", None
        elif parts:
            size += len(line)
            parts += [line] if size <= LIMIT else []
            if line.rstrip() == b"}" or size > LIMIT:
                yield f"{name}:{first}", b"".join(parts) if size <= LIMIT else None
                parts, size = [], 0
        elif line.rstrip() == b"{":
            parts, first, size = [line], number, 1
        elif line.strip():
            yield f"{name}:{number}", line
    if parts:
        yield f"{name}:{first}", b"".join(parts)
