"""From the YAML that people write to the one JSON that the wheel carries. Every error names the file, the line and the field.

    VERSION                    calendar version of the data, number of the row schema
    sources.yaml               short names for citations that many entries share
    diagnoses.yaml             model.Diagnosis
    retired.yaml               key or id that is no longer in use -> its successor (or an empty text)
    rows/**/*.yaml             model.Row
    cures/*.yaml               types.Cure
    catalog/**/*.yaml          lists of entries by the names of their sections; the types are those of SECTIONS, and of a section without one
                               only sources and targets are read

`gfx: {set: NAME}` in any entry means the targets that gfx.yaml lists under `sets`. A wheel never needs PyYAML for its own data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from rocm_doctor.bounded import Unreadable, files, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.installed import SCHEMAS
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.matrix.store import SECTIONS
from rocm_doctor.matrix.types import Cure
from rocm_doctor.model import Diagnosis, Row

SCHEMA = SCHEMAS[-1]
MAX_BYTES = 8 * files.MIB
"""Bytes of one YAML file: twenty times the longest of ours."""
MAX_NODES = 500_000
"""Values of one YAML file: twenty times as many as the longest of ours has."""
_TARGETS = {"gfx", "blas"}
"""Fields that list targets."""
_MAPPINGS = {"models", "sets"}
"""Sections that are a mapping."""
_SHORT = regex(r"([a-z0-9][a-z0-9.-]*)(?= § |, seen |$)")
_STEP = regex(r"\.(\w+)|\[(\d+|\.\.\.)\]")


class Problem(NamedTuple):
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

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def compile_json(root: Path) -> bytes:
    """The whole of a compat_matrix folder as JSON. Raises MatrixError."""
    version, schema = read_version(root)
    shorts = read_shorts(root)
    problems: list[Problem] = []
    parts: dict[str, Any] = {"version": version, "schema": schema, "retired": read_retired(root)}
    parts["diagnoses"] = list(_entries([root / "diagnoses.yaml"], root, Diagnosis, shorts, problems))
    parts["rows"] = list(_entries(row_files(root), root, Row, shorts, problems))
    parts["cures"] = list(_entries(cure_files(root), root, Cure, shorts, problems))
    for part in catalog_parts(root):
        if part.section in _MAPPINGS:
            parts[part.section] = part.items
        else:
            parts.setdefault(part.section, []).extend(part_entries(part, root, shorts, problems))
    parts["driver"] = {name: parts.pop(name, []) for name in ("modules", "windows")}
    if problems:
        raise MatrixError(problems)
    return msgspec.json.encode(parts)


class Part(NamedTuple):
    """What one file of the catalog holds of one section."""

    section: str
    path: Path
    items: Any

    def file(self, root: Path) -> str:
        """The file as messages name it."""
        return self.path.relative_to(root).as_posix()


def catalog_files(root: Path) -> list[Path]:
    """The files of the catalog, sorted."""
    return sorted((root / "catalog").rglob("*.yaml"))


def catalog_parts(root: Path) -> Iterator[Part]:
    """The parts of all files of the catalog. Raises MatrixError for a file that is not a mapping of sections to lists."""
    for path in catalog_files(root):
        label = path.relative_to(root).as_posix()
        data = read_yaml(path, label)
        if not isinstance(data, dict):
            raise MatrixError([Problem(label, 1, "", "expected lists of entries by the names of their sections")])
        for section, items in data.items():
            if not isinstance(items, dict if section in _MAPPINGS else list):
                raise MatrixError([Problem(label, find_line(path, (section,)), str(section), "expected a list of entries")])
            if section != "sets":
                yield Part(section, path, items)


def part_entries(part: Part, root: Path, shorts: Shorts, problems: list[Problem]) -> Iterator[Any]:
    """The entries of a list that can be read: as their type, or plain where the section has none. What is wrong with the others is noted."""
    kind = SECTIONS.get(part.section)
    for number, item in enumerate(part.items):
        made = _convert(item, kind, shorts, part.path, part.file(root), (part.section, number), problems)
        if made is not None:
            yield made


def row_files(root: Path) -> list[Path]:
    """The files of rows below a folder, sorted."""
    return sorted((root / "rows").rglob("*.yaml"))


def cure_files(root: Path) -> list[Path]:
    """The files of cures, sorted."""
    return sorted((root / "cures").glob("*.yaml"))


def read_version(root: Path) -> tuple[str, int]:
    """Calendar version and row schema of VERSION (`2026.11.21` and `rows 1`, a line each)."""
    path = root / "VERSION"
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    found = re.fullmatch(r"rows (\d+)", lines[1].strip()) if len(lines) > 1 else None
    if not found or not re.fullmatch(r"\d{4}\.\d{1,2}\.\d{1,2}(\.\d+)?", lines[0].strip()):
        raise MatrixError([Problem("VERSION", 1, "", "expected a calendar version and, on the next line, `rows N`")])
    if int(found[1]) != SCHEMA:
        raise MatrixError(
            [Problem("VERSION", 2, "", f"row schema {found[1]}; this rocm-doctor reads {SCHEMA}: update one of the two")]
        )
    return lines[0].strip(), int(found[1])


class Shorts(NamedTuple):
    """What entries name in short: citations by the names of sources.yaml, targets by those of `sets` in gfx.yaml."""

    sources: dict[str, str]
    sets: dict[str, list[str]]


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


def read_typed(path: Path, kind: Any, name: str = "") -> Any:
    """The values of a YAML file as that type. Raises MatrixError."""
    values = read_yaml(path, name)
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as exc:
        raise MatrixError([_misfit(exc, path, name or path.name)]) from exc


def read_yaml(path: Path, name: str = "") -> Any:
    """The plain values of a YAML file. Raises MatrixError for a file that is missing or is not YAML."""
    try:
        return _parse(files.text(path, MAX_BYTES))
    except OSError as exc:
        raise MatrixError([Problem(name or path.name, 0, "", exc.strerror or str(exc))]) from exc
    except Unreadable as exc:
        raise MatrixError([Problem(name or path.name, exc.line, "", str(exc))]) from exc


@lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    """The values of a text, shared by all callers, who must not change them. The cache holds more texts than the matrix has files."""
    return yamls.values(text, MAX_NODES)


def entries(path: Path, kind: Any, shorts: Shorts) -> list[Any]:
    """The entries of one file that can be read."""
    return list(_entries([path], path.parent, kind, shorts, []))


def _entries(paths: Iterable[Path], root: Path, kind: Any, shorts: Shorts, problems: list[Problem]) -> Iterator[Any]:
    for path in paths:
        label = path.relative_to(root).as_posix()
        items = read_yaml(path, label)
        if items is None:
            continue
        if not isinstance(items, list):
            problems.append(Problem(label, 1, "", "expected a list of entries"))
            continue
        for number, item in enumerate(items):
            made = _convert(item, kind, shorts, path, label, (number,), problems)
            if made is not None:
                yield made


def _convert(
    item: Any, kind: Any, shorts: Shorts, path: Path, label: str, at: tuple[int | str, ...], problems: list[Problem]
) -> Any:
    """An entry of the YAML as its type; None if it does not fit, and then `problems` has one more."""
    try:
        if kind is None:
            return expand_names(item, shorts) if isinstance(item, dict) else item
        made = msgspec.convert(expand(item, shorts), kind)
        if kind is Row and (both := sorted(set(made.when) & set(made.affected))):
            raise msgspec.ValidationError(f"`{both[0]}` is under `when`, too - at `$.affected.{both[0]}`")
        return msgspec.structs.replace(made, when=all_conditions(made)) if isinstance(made, Row) and made.affected else made
    except msgspec.ValidationError as exc:
        problems.append(_misfit(exc, path, label, at))
    except KeyError as exc:
        field, name = exc.args
        home = "a set of catalog/gfx.yaml" if field in _TARGETS else "a short name of sources.yaml"
        problems.append(Problem(label, find_line(path, (*at, field)), field, f"`{name}` is not {home}"))
    return None


def _misfit(error: msgspec.ValidationError, path: Path, label: str, at: tuple[int | str, ...] = ()) -> Problem:
    """Where in a file a value is not of its type, and what is wrong with it."""
    words, _, where = str(error).partition(" - at `$")
    steps = [name or number for name, number in _STEP.findall(where)]
    return Problem(label, find_line(path, at + tuple(_numbers(steps))), ".".join(s for s in steps if s != "..."), words)


def _numbers(steps: Iterable[str]) -> Iterator[int | str]:
    yield from (int(s) if s.isdigit() else s for s in steps)


def expand(item: Any, shorts: Shorts) -> Any:
    """The entry with the short names of its sources, its sets of targets and its plain commands written out. Raises KeyError as
    `expand_names` does."""
    if not isinstance(item, dict):
        return item
    made = dict(item)
    for name in ("commands", "verify"):
        if isinstance(made.get(name), list):
            made[name] = [_command(one) for one in made[name]]
    made |= {name: _command(made[name]) for name in ("settle", "command", "tells") if made.get(name)}
    made = expand_names(made, shorts)
    if isinstance(made.get("affected"), dict):
        made["affected"] = {
            fact: [_expand_source(one, shorts) for one in _list(several)] for fact, several in made["affected"].items()
        }
    if isinstance(made.get("stated"), list):
        made["stated"] = [_expand_source(one, shorts) for one in made["stated"]]
    if isinstance(made.get("overrides"), list):
        made["overrides"] = [expand(o, shorts) for o in made["overrides"]]
    return made


def expand_names(item: dict[str, Any], shorts: Shorts) -> dict[str, Any]:
    """The entry with the short names of its sources and its sets of targets written out. Raises KeyError with the field and the name of what
    does not exist."""
    made = dict(item)
    if isinstance(made.get("sources"), list):
        made["sources"] = [_expand_citation(source, shorts) for source in made["sources"]]
    for name in _TARGETS & made.keys():
        if isinstance(made[name], dict):
            wanted = str(made[name].get("set"))
            if wanted not in shorts.sets:
                raise KeyError(name, wanted)
            made[name] = shorts.sets[wanted]
    return made


def _expand_source(one: Any, shorts: Shorts) -> Any:
    """A part of an entry (a range, a statement) with the short name of its source written out."""
    return {**one, "source": _expand_citation(one["source"], shorts)} if isinstance(one, dict) and "source" in one else one


def _expand_citation(source: Any, shorts: Shorts) -> Any:
    """A source with the short name that it may begin with written out. Raises KeyError for a name that does not exist."""
    if not isinstance(source, str):
        return source
    found = _SHORT.match(source)
    if found and found[1] not in shorts.sources:
        raise KeyError("sources", found[1])
    return shorts.sources[found[1]] + source[found.end() :] if found else source


def _list(value: Any) -> list[Any]:
    """The value if it is a list; else a list of it, which the schema refuses with a message."""
    return value if isinstance(value, list) else [value]


def _command(one: Any) -> Any:
    """A command of the YAML, where a plain string is one for `sh`."""
    return {"run": one} if isinstance(one, str) else one


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
