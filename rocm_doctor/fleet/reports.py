"""What `fleet judge` is given: folders, JSON lines, standard input, decoded report by report. Every reader is bounded.

A line is what `check` or `smoke --format json` prints, what `bench --format json` prints (`figures`), or what `fleet run` prints of a node
that did not answer (`host`, `error`), with a launcher's label in front of it or without. A file may also be one indented report, as `check
--format json` prints it. What is too large or not whole becomes a line with an `error`, and the next one is read all the same.
Of a report only what a fleet is judged by is decoded: readings, commands and words are most of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Union

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.files import open_file
from rocm_doctor.fleet.nodeset import is_host_name
from rocm_doctor.model import Value
from rocm_doctor.reports.json import LIMIT, SCHEMA_VERSION

MOST_FACTS = 5_000
"""Facts of one report, GPUs included: 64 GPUs have 1,600 and a large environment 800 packages."""


class LeanFact(msgspec.Struct, gc=False):
    """A fact without its readings."""

    value: Value = None


class LeanSnapshot(msgspec.Struct, gc=False):
    """The facts of a machine and of its GPUs, or of one GPU."""

    facts: dict[str, LeanFact] = {}
    gpus: list[LeanSnapshot] = []


class FindingKey(msgspec.Struct, frozen=True, gc=False):
    """A finding, by what folds it: diagnosis and row."""

    id: str
    severity: str
    title: str = ""
    row: str = ""
    follows_from: str = ""


class NodeFigure(msgspec.Struct, gc=False):
    """One measured value. `gpu`: index; -1: of the whole node."""

    name: str
    value: float
    unit: str = ""
    gpu: int = -1
    better: str = "higher"


class MeasuredGpu(msgspec.Struct, gc=False):
    """A GPU that was measured: figures are compared between GPUs of one name."""

    index: int
    name: str = ""
    gfx: str = ""


class ReportLine(msgspec.Struct, gc=False):
    """One line of a report, a benchmark or a note of a node that did not answer; each field means what it means there."""

    schema_version: int = 0
    tool_version: str = ""
    matrix_version: str = ""
    host: str = ""
    verdict: str = ""
    kind: str = ""
    findings: list[FindingKey] = []
    snapshot: Union[LeanSnapshot, None] = None
    figures: list[NodeFigure] = []
    gpus: list[MeasuredGpu] = []
    error: str = ""
    """Why there is no report, or why it cannot be judged."""
    received: float = 0.0
    place: str = ""
    """File and number of the line."""


_DECODER = msgspec.json.Decoder(ReportLine)


class _ReportHead(msgspec.Struct):
    """What can be expected to fit of a report of another version."""

    schema_version: int = 0
    host: str = ""


def read_lines(paths: Iterable[Path], stdin: IO[bytes]) -> Iterator[ReportLine]:
    """The lines of all files; of a folder those of the files in it, of `-` those of standard input. Raises OSError for a path that does not exist."""
    for path in paths:
        if str(path) == "-":
            yield from _read_stream(stdin, "standard input")
            continue
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] != ".") if path.is_dir() else [path]
        for file in files:
            name = str(file.relative_to(path)) if file != path else file.name
            try:
                with open_file(file) as stream:
                    yield from _read_stream(stream, name)
            except Unreadable as exc:
                yield ReportLine(place=name, error=str(exc))


def _read_stream(stream: IO[bytes], name: str) -> Iterator[ReportLine]:
    number = 0
    while body := stream.readline(LIMIT + 1):
        number += 1
        rest = body
        if number == 1 and body.strip() == b"{":
            body += stream.read(LIMIT)
        while len(body) > LIMIT and rest and not rest.endswith(b"\n"):
            rest = stream.readline(LIMIT)
        if not body.isspace():
            yield decode(body, f"{name}:{number}")


def decode(body: bytes, place: str) -> ReportLine:
    """The line that a node sent. If it cannot be judged, or its host is not a host name, `error` says why."""
    try:
        if len(body) > LIMIT:
            raise Unreadable(f"more than {LIMIT >> 20} MiB")
        line = _DECODER.decode(body[max(body.find(b"{"), 0) :])
        line.error = line.error or _refusal(line)
    except (Unreadable, msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        line = _undecodable(body, str(exc)[:200])
    line.place = place
    if not line.host and (file := Path(place.rpartition(":")[0])).suffix == ".json":
        line.host = file.stem  # as people name the file of one report: node07.json
    if not is_host_name(line.host):
        line.error = line.error or f"`{line.host[:60]}` is not a host name; collect with `fleet run`, or with --no-redact"
        line.host = ""
    return line


def _undecodable(body: bytes, why: str) -> ReportLine:
    """A line for what this version cannot read as a report: with its host, if it has one."""
    try:
        head = jsons.decode(body[max(body.find(b"{"), 0) :], _ReportHead)
    except Unreadable:
        return ReportLine(error=why)
    line = ReportLine(head.schema_version, host=head.host)
    return ReportLine(host=head.host, error=_refusal(line) if line.schema_version > SCHEMA_VERSION else f"not a report: {why}")


def _refusal(line: ReportLine) -> str:
    """Why a line cannot be judged; empty if it can."""
    if line.schema_version > SCHEMA_VERSION:
        return f"schema_version {line.schema_version}; this version of rocm-doctor reads up to {SCHEMA_VERSION}"
    if line.kind == "repository":
        return "a report on a repository, not on a machine"
    if line.snapshot is None and not line.figures:
        return "neither a report nor figures"
    facts = len(line.snapshot.facts) + sum(len(gpu.facts) for gpu in line.snapshot.gpus) if line.snapshot else 0
    return f"{facts} facts, more than the {MOST_FACTS} that are compared" if facts > MOST_FACTS else ""
