"""From the YAML that people write to the one JSON that the wheel carries. Every error names the file, the line and the field.

    VERSION                    calendar version of the data, number of the row schema
    sources.yaml               short names for citations that many entries share
    retired.yaml               key or id that is no longer in use -> its successor (or an empty text)
    diagnoses.yaml  rows/**/*.yaml  cures/*.yaml
                               lists of the entries of the sections `diagnoses`, `rows` and `cures`
    catalog/**/*.yaml          lists of entries by the names of their sections

`SECTIONS` has the type of a section's entries. Of a section without one (a room above gives it a type) only sources, grade and day are
checked. `gfx: {set: NAME}` in any entry means the targets that gfx.yaml lists under `sets`. A wheel never needs PyYAML for its own data.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from rocm_doctor.bounded import Unreadable, files, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.installed import SCHEMAS
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.matrix.rows import Row
from rocm_doctor.matrix.store import SECTIONS
from rocm_doctor.model import Grade

MAX_BYTES = 8 * files.MIB
"""Bytes of one YAML file: twenty times the longest of ours."""
MAX_NODES = 500_000
"""Values of one YAML file: twenty times as many as the longest of ours has."""
_FOLDERS = {"diagnoses": "diagnoses.yaml", "rows": "rows/**/*.yaml", "cures": "cures/*.yaml"}
"""The files of each section that has files of its own."""
_MAPPINGS = {"models", "sets"}
"""Sections that are a mapping."""
COMMANDS = ("commands", "verify", "settle", "command", "tells")
"""Fields that hold commands."""
_KEYS = ("key", "id", "product", "gfx", "module", "name", "version", "names")
"""Fields that name an entry: its type has one of them."""
_SHORT = regex(r"([a-z0-9][a-z0-9.-]*)(?= § |, seen |$)")
_VERSION = regex(r"(\d{4}\.\d{1,2}\.\d{1,2}(?:\.\d+)?)\s*\nrows (\d+)\s*")
_STEP = regex(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class DataProblem(NamedTuple):
    """What is wrong with the data: file, line (0: not known), field (may be empty), the words, and which check says so."""

    file: str
    line: int
    field: str
    message: str
    check: str = "schema"
    key: str = ""
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: " + (f"{self.field}: " if self.field else "") + self.message


class MatrixError(ValueError):
    """The data cannot be used. `problems` says where and why; the text lists them all."""

    def __init__(self, problems: Iterable[DataProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Untyped(msgspec.Struct, frozen=True):
    """An entry of a section without a type here: what every entry must have."""

    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date
    name: str = ""


class Entry(NamedTuple):
    """An entry of a section. `file`: the name of `path` in messages; `at`: the steps from the top of the file to it; `value`: the
    typed entry; `data`: what the JSON has of it."""

    section: str
    path: Path
    file: str
    at: tuple[int | str, ...]
    value: Any
    data: Any

    @property
    def key_field(self) -> str:
        return next(field for field in _KEYS if hasattr(self.value, field))

    @property
    def key(self) -> str:
        """How messages name it; empty for an entry without a type and a name."""
        return str(getattr(self.value, self.key_field))


class Shorts(NamedTuple):
    """What entries name in short: citations by the names of sources.yaml, targets by those of `sets` in gfx.yaml."""

    sources: dict[str, str]
    sets: dict[str, list[str]]


def compile_json(root: Path) -> bytes:
    """The whole of a compat_matrix folder as JSON. Raises MatrixError with all problems if a file or an entry is not of its
    form."""
    version, schema = read_version(root)
    parts: dict[str, Any] = {"version": version, "schema": schema, "retired": read_retired(root)}
    problems: list[DataProblem] = []
    for entry in read_entries(root, problems):
        parts.setdefault(entry.section, []).append(entry.data)
    if problems:
        raise MatrixError(problems)
    return msgspec.json.encode(parts | {name: items for name, _, items in _sections(root) if name in _MAPPINGS})


def read_entries(root: Path, problems: list[DataProblem]) -> Iterator[Entry]:
    """The entries of all files that can be read; what is wrong with the others is added to `problems`. Raises MatrixError for a file or a
    section that is not a list of entries."""
    shorts = read_shorts(root)
    for section, path, items in _sections(root):
        if section not in _MAPPINGS:
            yield from entries(section, path, items, shorts, problems, root)


def entries(
    section: str, path: Path, items: list[Any], shorts: Shorts, problems: list[DataProblem], root: Path
) -> Iterator[Entry]:
    """The entries of a section in one file, as `read_entries` gives them."""
    kind, file = SECTIONS.get(section), path.relative_to(root).as_posix()
    for number, item in enumerate(items):
        at = (number,) if section in _FOLDERS else (section, number)
        try:
            data = expand(item, shorts)
            value = msgspec.convert(_expand_commands(data) if kind else data, kind or Untyped)
            if isinstance(value, Row):
                value = _merge_ranges(value)
            yield Entry(section, path, file, at, value, value if kind else data)
        except msgspec.ValidationError as exc:
            problems.append(_misfit(exc, path, file, at))
        except KeyError as exc:
            field, name = exc.args
            home = "a short name of sources.yaml" if field == "sources" else "a set of catalog/gfx.yaml"
            problems.append(DataProblem(file, find_line(path, (*at, field)), field, f"`{name}` is not {home}"))


def _merge_ranges(row: Row) -> Row:
    """The row with the conditions that its ranges make. Raises msgspec.ValidationError for a fact that has both."""
    if both := sorted(set(row.when) & set(row.affected)):
        raise msgspec.ValidationError(f"`{both[0]}` is under `when`, too - at `$.affected.{both[0]}`")
    return msgspec.structs.replace(row, when=all_conditions(row)) if row.affected else row


def _sections(root: Path) -> Iterator[tuple[str, Path, Any]]:
    """(section, file, plain entries) for each section of each file. Raises MatrixError if these are not a list, or of _MAPPINGS a
    mapping."""
    for section, pattern in _FOLDERS.items():
        for path in sorted(root.glob(pattern)):
            yield section, path, _expect(list, read_yaml(path) or [], path, root)
    for path in sorted(root.glob("catalog/**/*.yaml")):
        for section, items in _expect(dict, read_yaml(path), path, root).items():
            yield str(section), path, _expect(dict if section in _MAPPINGS else list, items, path, root, (section,))


def _expect(kind: type, value: Any, path: Path, root: Path, at: tuple[str, ...] = ()) -> Any:
    """The value. Raises MatrixError if it is not of that type."""
    if isinstance(value, kind):
        return value
    words = "expected a list of entries" + ("" if kind is list else " by the names of their sections")
    raise MatrixError([DataProblem(path.relative_to(root).as_posix(), find_line(path, at), "".join(at), words)])


def yaml_files(root: Path) -> list[Path]:
    """All YAML files of a compat_matrix folder, sorted."""
    folders = (root / name for name in ("rows", "cures", "catalog"))
    return [*sorted(root.glob("*.yaml")), *sorted(path for folder in folders for path in folder.rglob("*.yaml"))]


def read_version(root: Path) -> tuple[str, int]:
    """(calendar version, row schema) of VERSION: `2026.11.21` and `rows 1`, a line each. Raises MatrixError if the file has
    another form, or the schema is not the newest that this tool reads."""
    path = root / "VERSION"
    found = _VERSION.fullmatch(path.read_text(encoding="utf-8") if path.is_file() else "")
    if not found:
        raise MatrixError([DataProblem("VERSION", 1, "", "expected a calendar version and, on the next line, `rows N`")])
    version, schema = found[1], int(found[2])
    if schema != SCHEMAS[-1]:
        words = f"row schema {schema}; this rocm-doctor reads {SCHEMAS[-1]}: update one of the two"
        raise MatrixError([DataProblem("VERSION", 2, "", words)])
    return version, schema


def read_shorts(root: Path) -> Shorts:
    """The short names of a compat_matrix folder."""
    path, gfx = root / "sources.yaml", root / "catalog" / "gfx.yaml"
    sources = read_typed(path, dict[str, str] | None) or {} if path.is_file() else {}
    targets = read_yaml(gfx) if gfx.is_file() else None
    sets = targets.get("sets") if isinstance(targets, dict) else None
    return Shorts(sources, sets if isinstance(sets, dict) else {})


def read_retired(root: Path) -> dict[str, str]:
    """Retired keys and ids, and their successors."""
    return read_typed(root / "retired.yaml", dict[str, str] | None) or {}


def read_typed(path: Path, kind: Any) -> Any:
    """The values of a YAML file as that type. Raises MatrixError if the file cannot be read or its values are not of the type."""
    values = read_yaml(path)
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as exc:
        raise MatrixError([_misfit(exc, path, path.name)]) from exc


def read_yaml(path: Path) -> Any:
    """The plain values of a YAML file. Raises MatrixError for a file that is missing or is not YAML."""
    try:
        return _parse(files.text(path, MAX_BYTES))
    except OSError as exc:
        raise MatrixError([DataProblem(path.name, 0, "", exc.strerror or str(exc))]) from exc
    except Unreadable as exc:
        raise MatrixError([DataProblem(path.name, exc.line, "", str(exc))]) from exc


@lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    """The values of a text, shared by all callers, who must not change them. The cache holds more texts than the matrix has files."""
    return yamls.values(text, MAX_NODES)


def _misfit(error: msgspec.ValidationError, path: Path, label: str, at: tuple[int | str, ...] = ()) -> DataProblem:
    """Where in a file a value is not of its type, and what is wrong with it."""
    words, _, where = str(error).partition(" - at `$")
    steps = [name or number for name, number in _STEP.findall(where)]
    numbers = (int(step) if step.isdigit() else step for step in steps)
    return DataProblem(label, find_line(path, (*at, *numbers)), ".".join(s for s in steps if s != "..."), words)


def expand(value: Any, shorts: Shorts, field: str = "") -> Any:
    """The value of a field (empty: an entry) with the short names of sources and the sets of targets in it written out. Raises KeyError
    with the field and the name of what does not exist."""
    if isinstance(value, dict):
        if field in ("gfx", "blas"):
            name = str(value.get("set"))
            if name not in shorts.sets:
                raise KeyError(field, name)
            return shorts.sets[name]
        if field == "affected":  # one range may stand for a list of it
            value = {fact: ranges if isinstance(ranges, list) else [ranges] for fact, ranges in value.items()}
        return {name: expand(part, shorts, str(name)) for name, part in value.items()}
    if isinstance(value, list):
        return [expand(part, shorts, field) for part in value]
    if isinstance(value, str) and field in ("source", "sources"):
        short = _SHORT.match(value)
        if short and short[1] not in shorts.sources:
            raise KeyError("sources", short[1])
        return shorts.sources[short[1]] + value[short.end() :] if short else value
    return value


def _expand_commands(item: Any) -> Any:
    """The entry with its plain commands as commands for `sh`."""
    return {**item, **{name: _command(item[name]) for name in COMMANDS if name in item}} if isinstance(item, dict) else item


def _command(value: Any) -> Any:
    if isinstance(value, list):
        return [_command(one) for one in value]
    return {"run": value} if isinstance(value, str) else value


def find_line(path: Path, steps: tuple[int | str, ...]) -> int:
    """The line (from 1) of a value in a YAML file, or of the nearest value around it; 0 when the file cannot be read."""
    try:
        node = nodes(files.text(path, MAX_BYTES))
    except (OSError, ValueError):
        return 0
    line = 1
    for step in steps:
        found = _child(node, step)
        if found is None:
            return line
        line, node = found
    return line


@lru_cache(maxsize=256)
def nodes(text: str) -> Any:
    """The tree of a YAML text with its marks. Raises ValueError for a text that is not YAML."""
    return next(iter(yamls.documents(text, MAX_NODES)), None)


def _child(node: Any, step: int | str) -> tuple[int, Any] | None:
    """Line and node of one step down: an index into a list, a key of a mapping (its line is the key's)."""
    import yaml

    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    return None
