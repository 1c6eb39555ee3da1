"""`matrix lint`: what a schema cannot say about the data.

A check is a function from one entry to (field, message) for each fault, or from all entries to (entry, field, message). A field is a step
below the entry, or empty.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rocm_doctor.matrix.advice import Cure
from rocm_doctor.matrix.checks import catalog, citations, commands, cures, rows, text
from rocm_doctor.matrix.rows import Row
from rocm_doctor.matrix.source import (
    DataProblem,
    Entry,
    MatrixError,
    find_line,
    read_entries,
    read_retired,
    read_shorts,
    read_version,
    yaml_files,
)
from rocm_doctor.matrix.types import Support, Target, TorchBuild

RowChecks = Sequence[tuple[str, Callable[[Row], Iterable[tuple[str, str]]]]]
"""Checks that look at one row alone, each with its name."""
_OF_ONE: tuple[tuple[str, Any, Callable[[Any], Iterable[tuple[str, str]]]], ...] = (
    ("source-form", object, citations.source_form),
    ("official", object, citations.publications),
    ("followable", object, citations.addresses),
    ("personal-data", object, text.personal_data),
    ("range-source", Support, citations.range_sources),
    ("coordinate-known", (Row, Cure), rows.coordinates),
    ("condition-parses", (Row, Cure), rows.conditions),
    ("form", Row, rows.form),
    ("range", Row, rows.ranges),
    ("range", Row, rows.open_ends),
    ("grade", Row, rows.grades),
    ("catalog", Target, catalog.target),
    ("catalog", TorchBuild, catalog.torch_build),
)
"""Checks of one entry: name, types, function."""
_OF_ALL: tuple[tuple[str, Callable[[Sequence[Entry]], Iterator[tuple[Entry, str, str]]]], ...] = (
    ("key-unique", text.repeated),
    ("remedy-given", rows.remedies),
    ("reference-known", rows.references),
    ("catalog", catalog.targets),
    ("catalog", catalog.indexes),
    ("catalog", catalog.figures),
    ("cure", cures.faults),
    ("command", commands.faults),
)
"""Checks of all entries: name, function."""


def lint(root: Path, today: datetime.date | None = None, more: RowChecks = ()) -> list[DataProblem]:
    """Problems of a compat_matrix folder, errors first. Files that break the schema end the check.

    `more`: checks of a row that need what lies above this room (`rules/proofs.py`), by name.
    """
    problems: list[DataProblem] = []
    try:
        read_version(root)
        retired, entries = read_retired(root), list(read_entries(root, problems))
    except MatrixError as exc:
        return list(exc.problems)
    if problems:
        return problems
    for entry in entries:
        problems += _check(entry, today or datetime.date.today(), more)
    for name, check in _OF_ALL:
        problems += [_problem(entry, field, message, name) for entry, field, message in check(entries)]
    problems += [*_retired(root, retired, entries), *_shorts(root), *text.find_repeated_keys(yaml_files(root), root)]
    return sorted(problems, key=lambda p: (p.level != "error", p.file, p.line))


def _check(entry: Entry, today: datetime.date, more: RowChecks) -> Iterator[DataProblem]:
    for name, kind, check in (*_OF_ONE, *((name, Row, check) for name, check in more)):
        if isinstance(entry.value, kind):
            yield from (_problem(entry, field, message, name) for field, message in check(entry.value))
    for level, field, message in text.age(entry.value, today):
        yield _problem(entry, field, message, "age")._replace(level=level)


def _problem(entry: Entry, field: str, message: str, check: str) -> DataProblem:
    steps = (*entry.at, *(field.split(".", 1) if field.startswith(("when.", "affected.")) else [field] if field else []))
    return DataProblem(entry.file, find_line(entry.path, steps), field, message, check, entry.key)


def _retired(root: Path, retired: dict[str, str], entries: Sequence[Entry]) -> Iterator[DataProblem]:
    """A problem for each retired name that is in use, or whose successor does not exist."""
    used = {entry.key for entry in entries if entry.section in ("rows", "diagnoses")}
    for old, new in retired.items():
        words = f"`{old}` is still in use" if old in used else f"the successor `{new}` is unknown"
        if old in used or (new and new not in used):
            yield DataProblem("retired.yaml", find_line(root / "retired.yaml", (old,)), old, words, "retired", old)


def _shorts(root: Path) -> Iterator[DataProblem]:
    """A problem for each short name of sources.yaml that nothing uses."""
    used = text.words("\n".join(p.read_text(encoding="utf-8") for p in yaml_files(root) if p.name != "sources.yaml"))
    for name in read_shorts(root).sources:
        if name not in used:
            line = find_line(root / "sources.yaml", (name,))
            yield DataProblem("sources.yaml", line, name, "no entry uses this source", "source-used", name)
