"""The matrix in memory: rows and diagnoses at once, each part of the catalog when it is first asked for.

The wheel carries `rocm_doctor/data/matrix.json`; a newer one of the distribution rocm-doctor-matrix takes its place. In a source checkout the YAML beside the package is the truth: it is compiled
again when a file of it is newer than the JSON. `path` replaces the whole matrix.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.commands import Program
from rocm_doctor.commands import classify as classify_command
from rocm_doctor.matrix import installed, lenient
from rocm_doctor.matrix.advice import AdviceCase, Application, Complaint, Cure, QuestionEntry, Slot, Synonym
from rocm_doctor.matrix.rows import Diagnosis, Row
from rocm_doctor.matrix.speed import FieldFigure, ProductPeaks, Rate
from rocm_doctor.matrix.types import (
    DriverModule,
    DriverRange,
    EnvVar,
    Extension,
    KernelPackage,
    Processor,
    RocmPackage,
    RocmRelease,
    Soname,
    Statement,
    Support,
    Target,
    TorchBuild,
)
from rocm_doctor.model import Command

_PACKAGE = Path(__file__).resolve().parents[1]
_COMPILED = _PACKAGE / "data" / "matrix.json"
_SOURCE = _PACKAGE.parent / "compat_matrix"
_T = TypeVar("_T")


SECTIONS: dict[str, Any] = {"rows": Row, "diagnoses": Diagnosis, "complaints": Complaint}
"""The types of the entries, by their section; those of the properties below are added. A section without a type is plain."""


def _list(section: str, of: type[_T]) -> cached_property[tuple[_T, ...]]:
    """A property with the entries of a section of the catalog."""
    SECTIONS[section] = of
    return cached_property(lambda matrix: matrix.section(section, of))


def _table(section: str, of: type[_T], name: str) -> cached_property[dict[str, _T]]:
    """A property with the entries of a section of the catalog, by the value of a field."""
    SECTIONS[section] = of
    return cached_property(lambda matrix: {getattr(one, name): one for one in matrix.section(section, of)})


class Matrix(msgspec.Struct, frozen=True, dict=True):
    """Rows and diagnoses, and the catalog in `raw` (JSON by section), each section decoded when it is asked for. `retired`: old
    key or id -> its successor."""

    version: str = "none"
    rows: tuple[Row, ...] = ()
    diagnoses: dict[str, Diagnosis] = {}
    retired: dict[str, str] = {}
    raw: dict[str, bytes] = {}
    place: str = ""
    """Folder of the distribution that it is from; empty for the copy inside the tool."""
    refused: str = ""
    """Why a newer matrix that is installed is not used."""

    @cached_property
    def by_key(self) -> dict[str, Row]:
        return {row.key: row for row in self.rows}

    def replace_rows(self, rows: tuple[Row, ...]) -> Matrix:
        """The same matrix with other rows; what of its catalog is already decoded stays decoded."""
        other = msgspec.structs.replace(self, rows=rows)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in ("by_key", "made")})
        return other

    def once(self, make: Callable[[Matrix], _T]) -> _T:
        """`make(self)`, computed at the first call and kept with the matrix: a table that another room makes of it."""
        kept: dict[Callable[[Matrix], _T], _T] = self.__dict__.setdefault("made", {})
        if make not in kept:
            kept[make] = make(self)
        return kept[make]

    def section(self, name: str, of: type[_T]) -> tuple[_T, ...]:
        """The entries of a section of the catalog, decoded at the first call; none where the matrix has no such section."""
        kept: dict[str, tuple[_T, ...]] = self.__dict__.setdefault("sections", {})
        if name not in kept:
            kept[name] = lenient.decode(self.raw.get(name, b"[]"), tuple[of, ...])  # type: ignore[valid-type]
        return kept[name]

    def age(self, today: datetime.date) -> int | None:
        """Days since the data was dated; None for a matrix without a calendar version."""
        found = re.match(r"(\d{4})\.(\d{1,2})\.(\d{1,2})", self.version)
        return (today - datetime.date(*map(int, found.groups()))).days if found else None

    def row(self, key: str) -> Row | None:
        """The row of that key; a retired key gives its successor's row."""
        return self.by_key.get(key) or self.by_key.get(self.retired.get(key, ""))

    gfx = _table("gfx", Target, "gfx")
    """Targets by gfx name."""
    processors = _list("processors", Processor)
    """LLVM's processors that are not targets of the catalog."""
    extensions = _table("extensions", Extension, "name")
    """Libraries with GPU code of their own beside torch, by name."""
    rocm = _list("rocm", RocmRelease)
    """ROCm releases."""
    torch = _list("torch", TorchBuild)
    """Builds of torch for ROCm."""
    driver_modules = _list("modules", DriverModule)
    """Versions of the amdgpu module."""
    driver_ranges = _list("windows", DriverRange)
    """User space releases by kernel driver."""
    support = _list("support", Support)
    """Support statements."""
    env = _table("env", EnvVar, "name")
    """Environment variables by name."""
    facts = _list("facts", Statement)
    """Other facts of the catalog."""
    programs = _table("programs", Program, "name")
    """Programs that commands may start, by name."""
    questions = _list("questions", QuestionEntry)
    """Questions that `check` may ask."""
    rates = _table("rates", Rate, "key")
    """Operations per clock and compute unit, by `FAMILY-DTYPE`."""
    peaks = _list("peaks", ProductPeaks)
    """Products with their clocks, compute units and bandwidths."""
    field = _list("field", FieldFigure)
    """Figures that others measured."""
    cures = _list("cures", Cure)
    """What repairs diagnoses and rows, in the order of the files."""
    cases = _table("cases", AdviceCase, "name")
    """The cases of diagnoses that rules in Python find, by `ID/CASE`."""
    kernels = _list("kernels", KernelPackage)
    """The newest kernels that distributions bring."""
    rocm_packages = _list("rocm_packages", RocmPackage)
    """Pip packages that a torch without a ROCm of its own pins."""
    sonames = _table("sonames", Soname, "name")
    """The library names that changed, by name."""
    slots = _table("slots", Slot, "name")
    """The values that cures take from a report, by name."""
    synonyms = _list("synonyms", Synonym)
    """What people call things that `explain` has under other names."""
    applications = _list("applications", Application)
    """The programs that run on the GPU."""

    @cached_property
    def complaints(self) -> dict[str, tuple[str, ...]]:
        """The phrases of each complaint, by its name without braces."""
        return {one.name: one.any for one in self.section("complaints", Complaint)}

    def classify(self, commands: Iterable[Command | str]) -> tuple[Command, ...]:
        """The commands with what the catalog knows of their programs."""
        return tuple(
            self._classified.get(command) or self._classified.setdefault(command, classify_command(command, self.programs))
            for command in commands
        )

    @cached_property
    def _classified(self) -> dict[Command | str, Command]:
        return {}

    def fact(self, key: str) -> Statement:
        """The statement of that key. Raises KeyError for one that the catalog does not have."""
        return {fact.key: fact for fact in self.facts}[key]

    def plain(self, section: str) -> Any:
        """A section of the catalog that has no type here (`models`), as plain values; None when there is none."""
        return msgspec.json.decode(self.raw[section]) if section in self.raw else None


class _StoreHead(msgspec.Struct):
    version: str
    schema: int
    rows: tuple[Row, ...]
    diagnoses: tuple[Diagnosis, ...]
    retired: dict[str, str]


def load(path: Path | None = None) -> Matrix:
    """The matrix: the built-in one, or the one at `path` (a folder like compat_matrix, or its compiled JSON).

    Raises `source.MatrixError`, which names file, line and field of everything that is wrong.
    """
    return _read_replacement(path) if path else _load_packaged()


def decode(data: bytes) -> Matrix:
    """A compiled matrix. Raises Unreadable, also for a row schema that this tool does not read."""
    parts = jsons.decode(data, dict[str, msgspec.Raw])
    try:
        schema = msgspec.json.decode(parts.get("schema", msgspec.Raw(b"0")), type=int)
        if schema not in installed.SCHEMAS:
            raise Unreadable(f"row schema {schema}; this rocm-doctor reads {' and '.join(map(str, installed.SCHEMAS))}")
        head: _StoreHead = lenient.decode(data, _StoreHead)
    except msgspec.MsgspecError as exc:
        raise Unreadable(str(exc)[:200]) from exc
    raw = {name: bytes(part) for name, part in parts.items() if name not in _StoreHead.__struct_fields__}
    return Matrix(head.version, head.rows, {d.id: d for d in head.diagnoses}, head.retired, raw)


@cache
def _load_packaged() -> Matrix:
    """The matrix of the distribution; the same one for every call in a process: what was decoded of it and made of it is kept."""
    if _SOURCE.is_dir() and _is_stale():
        from rocm_doctor.matrix.source import compile_json

        data = compile_json(_SOURCE)
        _write(data)
        return decode(data)
    return _load_compiled(None if _SOURCE.is_dir() else installed.folder())


def _load_compiled(at: Path | None) -> Matrix:
    """The compiled matrix of the tool, or the newer one in the folder of the distribution `rocm-doctor-matrix`."""
    refused = ""
    try:
        data = installed.read_newer(at, installed.read_version(_COMPILED)) if at else None
        if data is not None:
            return msgspec.structs.replace(decode(data), place=str(at))
    except installed.Unusable as exc:
        refused = str(exc)
    except Unreadable as exc:
        refused = f"{installed.NAME} in {at} cannot be read ({exc}): install it again"
    return msgspec.structs.replace(decode(_COMPILED.read_bytes()), refused=refused)


def _is_stale() -> bool:
    """True if a file of the YAML, or the code that reads it, is newer than the compiled JSON."""
    if not _COMPILED.is_file():
        return True
    compiled_at = _COMPILED.stat().st_mtime_ns
    folders = [
        *(Path(folder) for folder, _, _ in os.walk(_SOURCE)),
        Path(__file__).parent,
        _PACKAGE / "model.py",
        _PACKAGE / "commands.py",
    ]
    return any(_is_newer(folder, compiled_at) for folder in folders)


def _is_newer(path: Path, than: int) -> bool:
    """True if the file, or any file of the folder, was changed after that time (ns)."""
    if not path.is_dir():
        return path.stat().st_mtime_ns >= than
    with os.scandir(path) as entries:
        return any(entry.stat().st_mtime_ns >= than for entry in entries)


def _write(data: bytes) -> None:
    """Keep the compiled matrix for the next start; a checkout that cannot be written is compiled anew each time."""
    beside = _COMPILED.with_suffix(f".{os.getpid()}.tmp")
    try:
        beside.parent.mkdir(exist_ok=True)
        beside.write_bytes(data)
        beside.replace(_COMPILED)
    except OSError:
        with contextlib.suppress(OSError):  # a file system that is read-only refuses the removal of what is not there, too
            beside.unlink()


def _read_replacement(path: Path) -> Matrix:
    from rocm_doctor.matrix.source import DataProblem, MatrixError, compile_json

    if path.is_dir():
        return decode(compile_json(path))
    try:
        return decode(files.read(path))
    except OSError as exc:
        raise MatrixError([DataProblem(str(path), 0, "", exc.strerror or str(exc))]) from exc
    except (Unreadable, msgspec.MsgspecError) as exc:
        raise MatrixError([DataProblem(str(path), 0, "", f"no compiled matrix: {exc}")]) from exc
