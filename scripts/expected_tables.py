"""The page of tests/expected with the tables of the rooms: constants of modules, an entry a line, as they are after import."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import msgspec
from calls.language import ROOMS, WIDE, fields_of

from rocm_doctor.bounded.patterns import Late
from rocm_doctor.matrix import Matrix


def tables(_: Matrix) -> str:
    """Every constant of the rooms that is data: words, numbers, patterns, and tables of them."""
    lines = ["# Written by scripts/regen.py: constants of modules, an entry a line (scripts/expected_tables.py)."]
    for room in ROOMS:
        package = import_module(f"rocm_doctor.{room}")
        names = [m.name for m in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")]
        for place in (package, *map(import_module, names)):
            lines += _of_module(place)
    return "\n".join(lines) + "\n"


def _of_module(place: ModuleType) -> Iterator[str]:
    for name, value in list(vars(place).items()):
        entries = [] if name.startswith("__") and name != "__all__" else list(_entries(value))
        if entries and _own(place, name):
            yield ""
            yield f"== {place.__name__.partition('.')[2]}.{name}"
            yield from map(_short, entries)


def _own(place: ModuleType, name: str) -> bool:
    """False for what a module imports."""
    return (
        re.search(
            rf"^{re.escape(name)}\b[^\n=]*=|^for\b.*\b{re.escape(name)}\b",
            Path(str(place.__file__)).read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        is not None
    )


def _entries(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (f"{_said(key)}: {_said(one)}" for key, one in value.items())
    elif isinstance(value, (set, frozenset)):
        yield from sorted(map(_said, value))
    elif isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        yield from map(_said, value)
    elif _is_data(value):
        yield _said(value)


def _is_data(value: Any) -> bool:
    return isinstance(value, (str, int, float, re.Pattern, Late, msgspec.Struct, tuple))


def _said(value: Any) -> str:
    """A value in words: patterns by their source, functions by their name and code."""
    if isinstance(value, Late):
        return "/{}/{}".format(*value.key)
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/{value.flags}"
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({', '.join(f'{f}={_said(getattr(value, f))}' for f, _ in fields_of(type(value)))})"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_said, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_said, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_said(k)}: {_said(v)}' for k, v in value.items())}}}"
    if value is None or isinstance(value, (str, int, float, bytes)):
        return repr(value)
    return str(getattr(value, "__qualname__", type(value).__name__))


def _short(entry: str) -> str:
    flat = entry.replace("\n", "\\n")
    return flat if len(flat) <= WIDE else f"{flat[:WIDE]}... {zlib.crc32(flat.encode()):08x}"
