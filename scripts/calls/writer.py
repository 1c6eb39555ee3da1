"""Arguments of calls as the Python that makes them again, in the language of scripts/language.py."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from calls.doors import every_entry, name_of
from calls.language import Names, fields_of, long_name
from rocm_doctor.matrix import Matrix, TorchBuild
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Snapshot
from rocm_doctor.plan.catalog import Catalog
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, Listing, ProbeResult
from rocm_doctor.probes.text.gpu_names import GpuNames
from rocm_doctor.rules.logs import Logs

_OF_FINDING = (
    "id",
    "severity",
    "confidence",
    "row",
    "subject",
    "status",
    "evidence",
    "follows_from",
    "excluded",
    "subject_kind",
    "alternative",
)


_FEW = 4
"""Fields in which a value may differ from an entry to be written as that entry with others."""


class TooMuch(Exception):
    """A value that is too long, or of a type, that a call is not written with."""


class Writer:
    """Values as the Python that makes them again. Raises TooMuch for what is not to be written."""

    def __init__(self, names: Names) -> None:
        matrix, catalog = names.matrix, names.catalog
        self.names = names
        self.entries: dict[tuple[type, str], tuple[Any, str]] = {}
        tables: dict[str, Mapping[str, Any]] = {"matrix.gfx": matrix.gfx, "matrix.extensions": matrix.extensions, "matrix.env": matrix.env,
                  "matrix.programs": matrix.programs, "matrix.diagnoses": matrix.diagnoses, "matrix.by_key": matrix.by_key,
                  "catalog.indexes": catalog.indexes, "catalog.packages": catalog.packages}  # fmt: skip
        for table, entries in tables.items():
            self.entries |= {(type(one), key): (one, f"{table}[{key!r}]") for key, one in entries.items()}
        self.entries |= {(TorchBuild, one.key): (one, f"torch({one.key!r})") for one in matrix.torch}
        for key, one in every_entry().items():
            self.entries.setdefault((type(one), name_of(one)), (one, f"entry({key!r})"))

    def written(self, value: Any, room: int = 900) -> str:
        """The value, in at most so many characters."""
        text = self._written(value, room)
        if len(text) > room:
            raise TooMuch
        return text

    def _written(self, value: Any, room: int) -> str:
        if room < 0:
            raise TooMuch
        kind: Any = type(value)
        if value is None or kind in (str, int, float, bool, bytes):
            return repr(value)
        if kind is datetime.date:
            return repr(value)
        if kind is Matrix:
            return "matrix"
        if kind is Catalog:
            return "catalog"
        if kind is Snapshot:
            listed = "" if value.gpus_listed else ", False"
            gpus = ", ".join(self._values(one.facts, room) for one in value.gpus)
            return f"machine({self._values(value.facts, room)}, [{gpus}]{listed})"
        if kind is Gpu:
            return f"gpu({self._values(value.facts, room)})"
        if kind is Fact:
            return f"fact({self.written(value.value, room)})"
        if kind is Logs:
            return f"log({', '.join(self.written(one.text, room) for one in value._texts)})"
        if kind is Finding:
            return self._call(
                "found", {f: getattr(value, f) for f in _OF_FINDING if getattr(value, f) not in ("", (), False)}, room
            )
        if kind is GpuNames:
            return "gpu_names"
        if kind is re.Match:
            return f"re.search({value.re.pattern!r}, {value.string!r}, {int(value.re.flags)})"
        if kind is ProbeResult:
            return "ProbeResult()"
        if kind is Listing:
            return f"Listing({value.complete})"
        if kind is Artifacts:
            return f"Artifacts({self.written(list(value.items), room)})"
        if kind is Document:
            return f"Document({self.written(Artifact(value.name, 'bundle', value.text), room)})"
        if entry := self._named(value):
            return entry
        if kind in (list, tuple, set, frozenset, dict):
            return self._listed(value, room)
        name = next((n for n in (kind.__name__, long_name(kind)) if self.names.values.get(n) is kind), "")
        if not name:
            raise TooMuch
        if isinstance(value, msgspec.Struct):
            if like := self._like(value, room):
                return like
            fields = ((f, getattr(value, f), default) for f, default in fields_of(kind))
            return self._call(name, {f: v for f, v, default in fields if v != default}, room)
        if hasattr(value, "_asdict"):
            return self._call(name, value._asdict(), room)
        try:
            kind()
        except Exception:
            raise TooMuch from None
        return f"{name}()"

    def _named(self, value: Any) -> str:
        known, words = self.entries.get((type(value), name_of(value)), (None, ""))
        return words if known is not None and known == value else ""

    def _like(self, value: msgspec.Struct, room: int) -> str:
        """An entry with other values in a few fields."""
        known, words = self.entries.get((type(value), name_of(value)), (None, ""))
        other = {f: v for f in value.__struct_fields__ if (v := getattr(value, f)) != getattr(known, f, None)}
        few = known is not None and len(other) <= _FEW
        return self._call("but", other, room).replace("(", f"({words}, ", 1) if few else ""

    def _values(self, facts: Mapping[str, Fact], room: int) -> str:
        return self.written({name: fact.value for name, fact in facts.items()}, room)

    def _call(self, name: str, values: Mapping[str, Any], room: int) -> str:
        return f"{name}({', '.join(f'{f}={self.written(v, room - 10)}' for f, v in values.items())})"

    def _listed(self, value: Any, room: int) -> str:
        if len(value) > room // 2:
            raise TooMuch
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self.written(k, room)}: {self.written(v, room)}' for k, v in value.items())}}}"
        items = [self.written(one, room) for one in value]
        if isinstance(value, (set, frozenset)):
            return f"{type(value).__name__}([{', '.join(sorted(items))}])"
        inner = ", ".join(items)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(items) == 1 else ''})"
