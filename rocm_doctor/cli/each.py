"""`check --each`: many reports, each checked on its own, with one JSON line of output each."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor import pipeline
from rocm_doctor.bounded import Unreadable
from rocm_doctor.cli.common import InputError
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Likely, Snapshot
from rocm_doctor.redaction.shared import redact_report
from rocm_doctor.sources.bundle import BundleError
from rocm_doctor.sources.paste import cut

_AT_ONCE = 8
"""Reports per task of a process: enough to keep it busy, few enough for early output."""


class Line(msgspec.Struct, frozen=True):
    """The output for one report: name, verdict, diagnoses and differential. `error`: why it was not read."""

    id: str
    verdict: str = ""
    summary: str = ""
    findings: tuple[tuple[str, str, str], ...] = ()
    differential: tuple[Likely, ...] = ()
    error: str = ""


def judge_each(path: Path, matrix: Matrix) -> Iterator[bytes]:
    """A JSON line for each file of a folder, or for each line of a JSON lines file, in order. Raises InputError where the path cannot be
    opened or a process that judges was killed."""
    reports = _reports(path)
    batches = iter(lambda: list(islice(reports, _AT_ONCE)), [])
    count = min(os.cpu_count() or 1, 8)
    if count == 1:
        for batch in batches:
            yield from _lines(batch, matrix)
        return
    context = get_context("fork" if os.name == "posix" else "spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_reset_signals, initargs=(matrix,))
    waiting: deque[Future[list[bytes]]] = deque()
    try:
        for batch in batches:
            waiting.append(pool.submit(_judge_batch, batch))
            if len(waiting) > 2 * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as exc:
        raise InputError(f"{path}: a process that judges reports was killed; is there enough memory?") from exc
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_matrix: Matrix
"""In a worker: read once, so that what was decoded of it serves every report."""


def _reset_signals(matrix: Matrix) -> None:
    """Signals end a worker as they end any process: the handlers of the command line are for its parent."""
    global _matrix
    _matrix = matrix
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _judge_batch(batch: list[tuple[str, str | Path]]) -> list[bytes]:
    return _lines(batch, _matrix)


def _lines(batch: Iterable[tuple[str, str | Path]], matrix: Matrix) -> list[bytes]:
    return [_line(one, matrix) for one in batch]


def _reports(path: Path) -> Iterator[tuple[str, str | Path]]:
    if path.is_dir():
        yield from ((str(one.relative_to(path)), one) for one in sorted(path.rglob("*")) if one.is_file())
        return
    try:
        stream = path.open("rb")
    except OSError as exc:
        raise InputError(f"{path}: {exc.strerror}") from exc
    with stream:
        yield from (
            (f"{path.name}:{number}", line.decode(errors="replace")) for number, line in enumerate(stream, 1) if line.strip()
        )


def _line(named: tuple[str, str | Path], matrix: Matrix) -> bytes:
    name, body = named
    try:
        name, artifacts = _artifacts(name, body)
    except (Unreadable, BundleError, OSError, ValueError) as exc:
        return msgspec.json.encode(Line(name, error=str(exc)))
    report = pipeline.judge(artifacts, matrix, source=name, kind="capture")
    found = tuple((f.id, f.severity, f.confidence) for f in report.findings if not f.follows_from)
    # Only the output is redacted: the snapshot is not written.
    made = redact_report(msgspec.structs.replace(report, snapshot=Snapshot(), findings=(), undecided=(), disputes=()))
    return msgspec.json.encode(Line(name, made.verdict, made.summary, found, made.differential))


def _artifacts(name: str, body: str | Path) -> tuple[str, list[Artifact]]:
    """The artifacts of a file, or of the text in a JSON line (a string, or an object with `text` and maybe `id`)."""
    if isinstance(body, Path):
        return name, pipeline.read_paths([body])
    held: Any = msgspec.json.decode(body)
    if isinstance(held, str):
        return name, cut(held, name)
    if isinstance(held, dict) and isinstance(held.get("text"), str):
        return str(held.get("id", name)), cut(held["text"], name)
    raise ValueError("a line must be a string, or an object with `text`")
