"""`matrix lint`: what a schema cannot say about the data. A check is a function from one entry, or from all, to complaints."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rocm_doctor.commands import Program
from rocm_doctor.matrix.checks import catalog as lint_catalog
from rocm_doctor.matrix.checks import citations as lint_citations
from rocm_doctor.matrix.checks import commands as lint_commands
from rocm_doctor.matrix.checks import cures as lint_cures
from rocm_doctor.matrix.checks import rows as lint_rows
from rocm_doctor.matrix.checks import text as lint_text
from rocm_doctor.matrix.source import (
    MatrixError,
    Problem,
    catalog_files,
    catalog_parts,
    compile_json,
    cure_files,
    expand,
    find_line,
    part_entries,
    read_retired,
    read_shorts,
    row_files,
)
from rocm_doctor.matrix.source import entries as read_entries
from rocm_doctor.matrix.store import SECTIONS
from rocm_doctor.matrix.types import Cure, Slot
from rocm_doctor.model import Diagnosis, Row

Complaints = Iterable[tuple[str, str]]
"""(field, message): the field is a step below the entry, or empty."""
RowChecks = Sequence[tuple[str, Callable[[Row], Complaints]]]
"""Checks that look at one row alone, each with its name."""


class Entry(NamedTuple):
    """One entry and where it is: the file, and the steps down to it."""

    value: Any
    path: Path
    file: str
    at: tuple[int | str, ...]

    @property
    def key(self) -> str:
        """How messages name it: its key, id, gfx, version or name."""
        return next(
            str(getattr(self.value, n))
            for n in ("key", "id", "gfx", "module", "name", "version", "names")
            if hasattr(self.value, n)
        )


def lint(root: Path, today: datetime.date | None = None, more: RowChecks = ()) -> list[Problem]:
    """Problems of a compat_matrix folder, errors first. Files that break the schema end the check.

    `more`: checks of a row that need what lies above this room (`rules/proofs.py`), by name.
    """
    day = today or datetime.date.today()
    try:
        compile_json(root)
    except MatrixError as exc:
        return list(exc.problems)
    entries = list(_entries(root))
    problems = [*_check_each(entries, day, more), *_check_together(entries, root), *_check_untyped(root)]
    problems += [*lint_text.find_repeated_keys(_files(root), root), *_shorts(root)]
    return sorted(problems, key=lambda p: (p.level != "error", p.file, p.line))


def _files(root: Path) -> list[Path]:
    top = [root / name for name in ("diagnoses.yaml", "retired.yaml", "sources.yaml")]
    return [*(p for p in top if p.is_file()), *row_files(root), *cure_files(root), *catalog_files(root)]


def _entries(root: Path) -> Iterator[Entry]:
    """The entries of a folder that have a type, each with its file and place."""
    shorts = read_shorts(root)
    sources: list[tuple[Path, Any]] = [(root / "diagnoses.yaml", Diagnosis), *((path, Row) for path in row_files(root))]
    sources += [(path, Cure) for path in cure_files(root)]
    for path, kind in sources:
        file = path.relative_to(root).as_posix()
        yield from (Entry(value, path, file, (number,)) for number, value in enumerate(read_entries(path, kind, shorts)))
    for part in catalog_parts(root):
        if part.section in SECTIONS:
            values = part_entries(part, root, shorts, [])
            yield from (Entry(value, part.path, part.file(root), (part.section, number)) for number, value in enumerate(values))


AnyCheck = Callable[[Any], Complaints]
_OF_ANY: tuple[tuple[str, AnyCheck], ...] = (
    ("source-form", lint_citations.source_form),
    ("official", lint_citations.publications),
    ("range-source", lint_citations.range_sources),
    ("personal-data", lint_text.personal_data),
    ("followable", lint_citations.addresses),
)
_OF_ROW: RowChecks = (
    ("key-form", lint_rows.key_form),
    ("coordinate-known", lint_rows.has_conditions),
    ("coordinate-known", lint_rows.coordinates),
    ("condition-parses", lint_rows.conditions),
    ("title-form", lint_rows.title_form),
    ("range", lint_rows.ranges),
    ("grade", lint_rows.grades),
    ("wrong-harmless", lint_rows.harmless_and_wrong),
    ("allowed", lint_rows.grade_problems),
    ("open-end", lint_rows.open_ends),
)

_OF_CURE: tuple[tuple[str, AnyCheck], ...] = (
    ("coordinate-known", lint_rows.coordinates),
    ("condition-parses", lint_rows.conditions),
)


def _check_each(entries: Sequence[Entry], today: datetime.date, more: RowChecks) -> Iterator[Problem]:
    """The problems of each entry by itself."""
    for entry in entries:
        of_row = (*_OF_ROW, *more) if isinstance(entry.value, Row) else _OF_CURE if isinstance(entry.value, Cure) else ()
        for name, check in (*_OF_ANY, *of_row):
            yield from (_problem(entry, field, message, name) for field, message in check(entry.value))
        for level, field, message in lint_text.age(entry.value, today):
            yield _problem(entry, field, message, "age")._replace(level=level)


def _check_together(entries: Sequence[Entry], root: Path) -> Iterator[Problem]:
    """The problems that show among all entries: repeated keys, references to nothing, a catalog that contradicts itself."""
    rows = [e for e in entries if isinstance(e.value, Row)]
    known = [e.value for e in entries if isinstance(e.value, Diagnosis)]
    ids = {d.id for d in known}
    retired = read_retired(root)
    values = [e.value for e in rows]
    yield from _report(rows, lint_rows.duplicates(values), "key-unique")
    yield from _report(rows, lint_rows.remedies(values, {d.id for d in known if d.advice or d.commands}), "remedy-given")
    yield from _report(rows, lint_rows.references(values, ids, retired), "reference-known")
    yield from _report(entries, lint_catalog.faults([e.value for e in entries]), "catalog")
    slots = {e.value.name for e in entries if isinstance(e.value, Slot)}
    yield from _report(
        entries,
        lint_cures.faults([e.value for e in entries], {*ids, *(r.key for r in values), "question", "symptom"}, slots),
        "cure",
    )
    programs = {e.value.name: e.value for e in entries if isinstance(e.value, Program)}
    yield from _report(entries, lint_commands.faults([e.value for e in entries], programs), "command")
    for old, new in retired.items():
        if new and new not in ids and all(new != r.key for r in values):
            yield Problem(
                "retired.yaml", find_line(root / "retired.yaml", (old,)), old, f"the successor `{new}` is unknown", "retired", old
            )


def _report(entries: Sequence[Entry], complaints: Iterable[tuple[int, str, str]], check: str) -> Iterator[Problem]:
    yield from (_problem(entries[number], field, message, check) for number, field, message in complaints)


def _problem(entry: Entry, field: str, message: str, check: str) -> Problem:
    steps = (*entry.at, *(field.split(".", 1) if field.startswith(("when.", "affected.")) else [field] if field else []))
    return Problem(entry.file, find_line(entry.path, steps), field, message, check, entry.key)


def _check_untyped(root: Path) -> Iterator[Problem]:
    """A problem for each entry without a type that lacks its sources, grade or day."""
    shorts = read_shorts(root)
    for part in catalog_parts(root):
        file, items = part.file(root), part.items if part.section not in SECTIONS and isinstance(part.items, list) else []
        for number, item in enumerate(items):
            line = find_line(part.path, (part.section, number))
            if not isinstance(item, dict):
                yield Problem(file, line, "", "expected an entry", "provenance", str(number))
                continue
            for field in ("sources", "grade", "checked"):
                if not item.get(field):
                    yield Problem(file, line, field, "is missing", "provenance", str(item.get("name", number)))
            for message in lint_citations.missing_addresses(expand(item, shorts).get("sources") or ()):
                yield Problem(file, line, "sources", message, "source-form", str(item.get("name", number)))


def _shorts(root: Path) -> Iterator[Problem]:
    """A problem for each short name of sources.yaml that nothing uses."""
    used = lint_text.words("\n".join(p.read_text(encoding="utf-8") for p in _files(root) if p.name != "sources.yaml"))
    for name in read_shorts(root).sources:
        if name not in used:
            yield Problem(
                "sources.yaml", find_line(root / "sources.yaml", (name,)), name, "no entry uses this source", "source-used", name
            )
