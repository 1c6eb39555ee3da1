"""What `fleet judge` is given: folders, JSON lines, standard input, cut into documents and decoded. Every reader is bounded.

A document is a line that is one JSON value, with a launcher's label in front of it or without, or the lines of an indented one (as `check
--format json` prints it). A document that is too large or not whole is a `Refusal`, and the next one is read all the same.
Of a report only what a fleet is judged by is decoded: readings, commands and words are most of it. A line is what `check` or `smoke
--format json` prints, what `bench --format json` prints (`figures`), or what `fleet run` prints of a node that did not answer (`host`,
`error`).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Union

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.files import open_file
from rocm_doctor.fleet.nodeset import is_host_name
from rocm_doctor.model import Unknown, Value
from rocm_doctor.reports.json import LIMIT, SCHEMA_VERSION

_SIP = 1 << 20
"""Bytes read at a time: a report is 60 KB, and the default of 8 KB takes four times as long."""
MOST_FACTS = 5_000
"""Facts of one report, GPUs included: 64 GPUs have 1,600 and a large environment 800 packages."""
LONGEST = 300
"""Characters of a value that is compared; a longer one is told by its beginning."""


class Document(NamedTuple):
    """One JSON value, and where it was read."""

    where: str
    body: bytes


class Refusal(NamedTuple):
    """A document that cannot be judged, and why."""

    where: str
    why: str
    host: str = ""


def documents(paths: Iterable[Path], stdin: IO[bytes]) -> Iterator[Document | Refusal]:
    """The documents of all paths; `-` is standard input. Raises OSError for a path that does not exist."""
    for path in paths:
        if str(path) == "-":
            yield from _read_stream(stdin, "standard input")
        elif path.is_dir():
            for file in sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith(".")):
                yield from _read_file(file, str(file.relative_to(path)))
        else:
            yield from _read_file(path, path.name)


def _read_file(path: Path, name: str) -> Iterator[Document | Refusal]:
    try:
        with open_file(path) as file:
            yield from _read_stream(file, name)
    except Unreadable as exc:
        yield Refusal(name, str(exc))


def _read_stream(stream: IO[bytes], name: str) -> Iterator[Document | Refusal]:
    try:
        source: Any = io.FileIO(stream.fileno(), closefd=False)
    except OSError:  # no file of the operating system's
        source = stream
    yield from _split(_lines(io.BufferedReader(source, _SIP)), name)


def _lines(source: IO[bytes]) -> Iterator[bytes]:
    """The lines; of one that is longer than a report may be, one byte more than that."""
    while line := source.readline(LIMIT + 1):
        yield line
        while len(line) > LIMIT and not line.endswith(b"\n"):
            line = source.readline(LIMIT + 1) or b"\n"


def _split(lines: Iterable[bytes], name: str) -> Iterator[Document | Refusal]:
    """Documents with the place of their first line."""
    indented: list[bytes] = []
    size = first = 0
    for number, line in enumerate(lines, 1):
        if indented:
            size += len(line)
            indented += [line] if size <= LIMIT else []
            if line.rstrip() == b"}":
                yield _document(f"{name}:{first}", b"".join(indented), size)
                indented = []
        elif line[1:2].isspace() and line.rstrip() == b"{":
            indented, first, size = [line], number, len(line)
        elif not line.isspace():
            yield _document(f"{name}:{number}", line[max(line.find(b"{"), 0) :], len(line))
    if indented:
        yield _document(f"{name}:{first}", b"".join(indented), size)


def _document(where: str, body: bytes, size: int) -> Document | Refusal:
    return Document(where, body) if size <= LIMIT else Refusal(where, f"more than {LIMIT >> 20} MiB")


class LeanFact(msgspec.Struct, gc=False):
    """A fact without its readings."""

    value: Value = None


class LeanSnapshot(msgspec.Struct, gc=False):
    """The facts of a machine and of its GPUs, or of one GPU."""

    facts: dict[str, LeanFact] = {}
    gpus: list[LeanSnapshot] = []


class Cause(msgspec.Struct, frozen=True, gc=False):
    """A finding, by what folds it: diagnosis and row."""

    id: str
    severity: str
    title: str = ""
    row: str = ""
    follows_from: str = ""


class Figure(msgspec.Struct, gc=False):
    """One measured value. `gpu`: index; -1: of the whole node."""

    name: str
    value: float
    unit: str = ""
    gpu: int = -1
    better: str = "higher"


class Device(msgspec.Struct, gc=False):
    """A GPU that was measured: figures are compared between GPUs of one name."""

    index: int
    name: str = ""
    gfx: str = ""


class Line(msgspec.Struct, gc=False):
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


_DECODER = msgspec.json.Decoder(Line)


class _Head(msgspec.Struct):
    """What can be expected to fit of a report of another version."""

    schema_version: int = 0
    host: str = ""


def decode(document: Document) -> Line | Refusal:
    """What a node sent, or why it cannot be judged."""
    line, why = Line(), ""
    try:
        line = _DECODER.decode(document.body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # In words, which takes longer; a report of another version has at least a host.
        try:
            head = jsons.decode(document.body, _Head)
            line = Line(head.schema_version, host=head.host)
            jsons.decode(document.body, Line)
        except Unreadable as exc:
            why = f"not a report: {exc}" if line.host or line.schema_version else str(exc)
    if not line.host and is_host_name(name := _file_name(document.where)):
        line.host = name
    why = _refusal(line, why)
    return Refusal(document.where, why, line.host if is_host_name(line.host) else "") if why else line


def _file_name(where: str) -> str:
    """The name of a file that holds one report without a host (`node07.json`), as people name it by its node; empty for other files."""
    file = Path(where.rpartition(":")[0])
    return file.stem if file.suffix == ".json" else ""


def _refusal(line: Line, why: str) -> str:
    """Why a line cannot be judged, or empty; `why`: what was wrong with it as JSON."""
    if line.schema_version > SCHEMA_VERSION:
        return f"schema_version {line.schema_version}; this version of rocm-doctor reads up to {SCHEMA_VERSION}"
    if why:
        return why
    if line.kind == "repository":
        return "a report on a repository, not on a machine"
    if line.snapshot is None and not line.figures and not line.error:
        return "neither a report nor figures"
    if line.snapshot and (facts := len(line.snapshot.facts) + sum(len(gpu.facts) for gpu in line.snapshot.gpus)) > MOST_FACTS:
        return f"{facts} facts, more than the {MOST_FACTS} that are compared"
    if is_host_name(line.host):
        return ""
    words = f"`{line.host[:60]}` is not a host name; collect with `fleet run`, or with --no-redact"
    return words if line.host else "no host name"


def key_of(value: Any) -> Any:
    """A value to compare and to hash: short, and an unknown one by its reason."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    if isinstance(value, tuple):
        return key_of(", ".join(value))
    return Unknown(value.why) if isinstance(value, Unknown) else value
