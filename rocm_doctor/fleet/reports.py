"""What `fleet judge` is given: folders, JSON lines, standard input, gzip, cut into documents and decoded. Every reader is bounded.

A document is a line that is one JSON value, the lines of an indented one (as `check --format json` prints it), or the pieces of one as
`fleet node` prints them (pieces.py). A document that is too large or not whole is a `Refused`, and the next one is read all the same.
Of a report only what a fleet is judged by is decoded: readings, commands and words are most of it. A line is what `check` or `smoke
--format json` prints, what `bench --format json` prints (`figures`), or what `fleet run` prints of a node that did not answer (`host`,
`error`).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Union, cast

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.archives import Gunzipped
from rocm_doctor.bounded.files import opened
from rocm_doctor.fleet.nodeset import valid
from rocm_doctor.fleet.pieces import Joiner
from rocm_doctor.model import Unknown, Value
from rocm_doctor.reports.json import LIMIT, SCHEMA_VERSION

INFLATED = 64 << 30
"""Bytes inflated from one gzip file: 500,000 reports."""
_SIP = 1 << 20
"""Bytes read at a time: a report is 60 KB, and the default of 8 KB takes four times as long."""
MOST_FACTS = 5_000
"""Facts of one report, GPUs included: 64 GPUs have 1,600 and a large environment 800 packages."""
MOST_FIGURES = 20_000
LONGEST = 300
"""Characters of a value that is compared; a longer one is told by its beginning."""


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
    try:
        source: Any = io.FileIO(stream.fileno(), closefd=False)
    except OSError:  # no file of the operating system's
        source = stream
    buffered = io.BufferedReader(source, _SIP)
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    source = io.BufferedReader(cast("Any", Gunzipped(buffered, INFLATED)), _SIP) if packed else buffered
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
        elif line[1:2].isspace() and line.rstrip() == b"{":
            parts, first, size = [line], number, 1
        elif not line.isspace():
            yield f"{name}:{number}", line
    if parts:
        yield f"{name}:{first}", b"".join(parts)


class LeanFact(msgspec.Struct, gc=False):
    """A fact without its readings."""

    value: Value = None


class LeanSnapshot(msgspec.Struct):
    """The facts of a machine and of its GPUs, or of one GPU."""

    facts: dict[str, LeanFact] = {}
    gpus: list[LeanSnapshot] = []


class Cause(msgspec.Struct, frozen=True):
    """A finding, by what folds it: diagnosis and row."""

    id: str
    severity: str
    title: str = ""
    row: str = ""
    follows_from: str = ""


class Figure(msgspec.Struct):
    """One measured value. `gpu`: index; -1: of the whole node."""

    name: str
    value: float
    unit: str = ""
    gpu: int = -1
    better: str = "higher"


class Device(msgspec.Struct):
    """A GPU that was measured: figures are compared between GPUs of one name."""

    index: int
    name: str = ""
    gfx: str = ""


class Line(msgspec.Struct):
    """One line, of whichever kind; every field has the meaning that it has there."""

    schema_version: int = 0
    tool_version: str = ""
    matrix_version: str = ""
    host: str = ""
    verdict: str = ""
    kind: str = ""
    findings: list[Cause] = []
    snapshot: Union[LeanSnapshot, None] = None
    figures: list[Figure] = []
    gpus: list[Device] = []
    error: str = ""
    at: float = 0.0
    received: float = 0.0
    machines: list[msgspec.Raw] = []


_DECODER = msgspec.json.Decoder(Line)


class _Head(msgspec.Struct):
    """What can be expected to fit of a report of another version."""

    schema_version: int = 0
    host: str = ""


def lines(document: Document) -> Iterator[Line | Refused]:
    """The lines of a document: one, or one for each machine of a document of several."""
    try:
        found = _DECODER.decode(document.body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        yield _refused(document)
        return
    if found.machines:
        for number, one in enumerate(found.machines, 1):
            yield from lines(Document(f"{document.where} ({number})", bytes(one)))
        return
    found.host = document.host or found.host
    why = _why_not(found)
    yield Refused(document.where, why, found.host if valid(found.host) else "") if why else found


def _refused(document: Document) -> Refused:
    """Why a document is no line, in words: slower than the decoder, and it knows reports of another version."""
    head, why = _Head(), "not a report"
    try:
        head = jsons.decode(document.body, _Head)
        jsons.decode(document.body, Line)
    except Unreadable as exc:
        why = f"not a report: {exc}" if head.host or head.schema_version else str(exc)
    host = document.host or head.host
    why = _other(head.schema_version) if head.schema_version > SCHEMA_VERSION else why
    return Refused(document.where, why, host if valid(host) else "")


def _other(version: int) -> str:
    return f"schema_version {version}; this version of rocm-doctor reads up to {SCHEMA_VERSION}"


def _why_not(line: Line) -> str:
    if line.snapshot is not None and line.verdict:
        if line.schema_version > SCHEMA_VERSION:
            return _other(line.schema_version)
        if line.kind == "repository":
            return "a report on a repository, not on a machine"
        facts = len(line.snapshot.facts) + sum(len(gpu.facts) for gpu in line.snapshot.gpus)
        if facts > MOST_FACTS:
            return f"{facts} facts, more than the {MOST_FACTS} that are compared"
    elif len(line.figures) > MOST_FIGURES:
        return f"{len(line.figures)} figures, more than the {MOST_FIGURES} that are compared"
    elif not line.figures and not line.error:
        return "neither a report nor figures"
    if valid(line.host):
        return ""
    return (
        f"`{line.host[:60]}` is not a host name; collect with `fleet run`, or with --no-redact" if line.host else "no host name"
    )


def key_of(value: Any) -> Any:
    """A value to compare and to hash: short, and an unknown one by its reason."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    if isinstance(value, tuple):
        return key_of(", ".join(value))
    return Unknown(value.why) if isinstance(value, Unknown) else value
