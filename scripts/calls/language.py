"""Pages of tests/expected: what single functions of a room give for small arguments, one call a line.

`python scripts/calls` finds the calls; here they are called again and written with what they give now. Arguments are Python: values,
the types of the project, `machine(facts, gpus)`, and entries of the matrix by name (`matrix.gfx['gfx906']`, `torch('2.9.1+rocm6.4')`).
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from types import CodeType, GeneratorType
from typing import Any, NamedTuple

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from text_probes import NAMES

import rocm_doctor
from calls.doors import DOORS, but, every_entry
from rocm_doctor import model
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Reading, Row, Snapshot, Value
from rocm_doctor.plan.catalog import Catalog, known
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.rules.logs import Logs

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "expected"
ROOMS = ("matrix", "plan", "probes", "redaction", "rules", "versions")
WIDE = 240
"""Characters of a result that are shown; of the rest there is a checksum."""
MOST = 40
"""Items of a generator that are taken."""


class Names(NamedTuple):
    """What the arguments of calls are made of, and the matrix with its catalog."""

    values: dict[str, Any]
    matrix: Matrix
    catalog: Catalog


def page(room: str) -> Callable[[Matrix], str]:
    """The page of a room: the calls that its file lists, and what they give now. A call that no longer fits is left out."""

    def made(matrix: Matrix) -> str:
        names, lines = names_for(matrix), [f"# Written by scripts/regen.py: calls of functions of {room}, and what they give."]
        every: dict[str, dict[str, None]] = {}
        for function, calls in listed(file_of(room).read_text(encoding="utf-8")):
            every.setdefault(moved(function), {}).update(dict.fromkeys(calls))
        for function, mine in sorted(every.items()):
            target = resolved(function)
            results = [(call, given(target, call, names)) for call in mine] if target else []
            sound = [f"{call} -> {result}" for call, result in results if not result.startswith("TypeError: ")]
            lines += ["", f"== {function}", *sound] if sound else []
        return "\n".join(lines) + "\n"

    return made


def file_of(room: str) -> Path:
    """The page of a room."""
    return FOLDER / f"calls_{room}.txt"


def listed(text: str) -> Iterator[tuple[str, list[str]]]:
    """Functions and their calls, as a page lists them."""
    for part in text.split("\n\n== ")[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        yield name, [_call_of(line) for line in lines]


def _call_of(line: str) -> str:
    """The arguments at the beginning of a line; there may be arrows inside of them."""
    at = line.find(" -> ")
    while at >= 0:
        with contextlib.suppress(SyntaxError):
            ast.parse(f"f{line[:at]}", mode="eval")
            return line[:at]
        at = line.find(" -> ", at + 1)
    raise ValueError(f"no call: {line[:80]}")


def names_for(matrix: Matrix) -> Names:
    """The names that arguments are written with: every type of the rooms whose name is its own, and entries of the matrix."""
    kinds = list(_kinds())
    count = Counter(kind.__name__ for kind in kinds)
    catalog, builds = known(matrix), {one.key: one for one in matrix.torch}
    values: dict[str, Any] = {
        kind.__name__ if count[kind.__name__] == 1 or kind.__module__ == model.__name__ else long_name(kind): kind
        for kind in kinds
    }
    values |= {
        "machine": machine,
        "gpu": gpu,
        "fact": fact,
        "log": log,
        "found": found,
        "gpu_names": NAMES,
        "Artifacts": artifacts,
        "matrix": matrix,
        "catalog": catalog,
        "torch": builds.__getitem__,
        "entry": every_entry().__getitem__,
        "but": but,
    }
    values |= {"datetime": datetime, "re": re, "__builtins__": {"frozenset": frozenset, "set": set}}
    values["_taken"] = lambda *args, **named: (args, named)
    return Names(values, matrix, catalog)


def long_name(kind: type) -> str:
    return f"{kind.__module__.partition('.')[2].replace('.', '_')}_{kind.__name__}"


def _kinds() -> Iterator[type]:
    for name in ("bounded", "model", "commands", "coords", "facts", *ROOMS):
        room = import_module(f"rocm_doctor.{name}")
        found = [room, *(import_module(m.name) for m in walk_packages(getattr(room, "__path__", ()), f"{room.__name__}."))]
        for place in found:
            yield from (kind for kind in vars(place).values() if isinstance(kind, type) and kind.__module__ == place.__name__)


def resolved(function: str) -> Callable[..., Any] | None:
    """The function of that name, by its module in the package and its name there, or a door; None when there is none any more."""
    if function in DOORS:
        return DOORS[function]
    place, _, name = function.partition(":")
    found: Any = sys.modules.get(f"{rocm_doctor.__name__}.{place}")
    for part in name.split("."):
        found = vars(found).get(part) if found else None
    if isinstance(found, property):
        return found.fget
    if isinstance(found, cached_property):
        return found.func
    return found if callable(found) else None


def moved(function: str) -> str:
    """The name of a function, which may be in another module of its room now."""
    place, _, name = function.partition(":")
    room = f"{rocm_doctor.__name__}.{place.partition('.')[0]}"
    if not name or resolved(function):
        return function
    others = (module.partition(".")[2] for module in list(sys.modules) if module.startswith(room))
    found = {f"{other}:{name}" for other in others if _is_own(resolved(f"{other}:{name}"), other)}
    return found.pop() if len(found) == 1 else function


def _is_own(target: Any, place: str) -> bool:
    return getattr(target, "__module__", "") == f"{rocm_doctor.__name__}.{place}"


def given(function: Callable[..., Any], call: str, names: Names) -> str:
    """What the function gives for these arguments, what it leaves in those that it may change, or the error that it raises."""
    try:
        args, named = eval(compiled(call), names.values)
        before = [_state(one) for one in args]
        result = function(*args, **named)
        shown = said(list(islice(result, MOST)) if isinstance(result, GeneratorType) else result)
        shown = " | ".join([shown, *(f"leaves {now}" for was, now in zip(before, map(_state, args)) if now != was)])
    except Exception as exc:
        shown = f"{type(exc).__name__}: {exc}"
    flat = shown.replace("\n", "\\n")
    return flat if len(flat) <= WIDE else f"{flat[:WIDE]}... {zlib.crc32(flat.encode()):08x}"


def _state(value: Any) -> str:
    """An argument that a function may change, as text."""
    return said(value) if isinstance(value, (list, dict, set, ProbeResult)) else ""


def said(value: Any) -> str:
    """A result in words that are the same in every run."""
    if isinstance(value, Row):
        return f"row {value.key}"
    if isinstance(value, Finding):
        rest = f"{zlib.crc32(msgspec.json.encode(value)):08x}"
        return f"{value.severity}/{value.confidence} {value.id} on {value.subject}: {value.title} ({rest})"
    if isinstance(value, (Matrix, Catalog)):
        return type(value).__name__
    if isinstance(value, ProbeResult):
        return f"{value}{[(one.complete, len(one.gpus)) for one in value.listings]}"
    if isinstance(value, re.Match):
        return f"match {value.span()}"
    if isinstance(value, msgspec.Struct):
        shown = ((f, getattr(value, f), default) for f, default in fields_of(type(value)))
        return f"{type(value).__name__}({', '.join(f'{f}={said(v)}' for f, v, default in shown if v != default)})"
    if isinstance(value, tuple):
        return f"{type(value).__name__ if hasattr(value, '_fields') else ''}({', '.join(map(said, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(said, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(said, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{said(k)}: {said(v)}' for k, v in value.items())}}}"
    if value is None or isinstance(value, (str, int, float, bytes, Path, datetime.date)):
        return repr(value)
    return getattr(value, "__qualname__", type(value).__name__)


@cache
def fields_of(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, f.default) for f in msgspec.structs.fields(kind))


@lru_cache(100_000)
def compiled(call: str) -> CodeType:
    return compile(f"_taken{call}", "<call>", "eval")


def machine(facts: dict[str, Value], gpus: Iterable[dict[str, Value]] = (), listed: bool = True) -> Snapshot:
    """A machine with these facts."""
    return Snapshot(_facts(facts), tuple(gpu(one) for one in gpus), gpus_listed=listed)


def gpu(facts: dict[str, Value]) -> Gpu:
    """A GPU with these facts."""
    return Gpu(_facts(facts))


def _facts(values: dict[str, Value]) -> dict[str, Fact]:
    return {name: fact(value, name) for name, value in values.items()}


def fact(value: Value, name: str = "fact") -> Fact:
    """A fact of that value, as one reading gives it."""
    return Fact(value, (Reading("drawn", name, f"{name}={value}"),))


def artifacts(items: Iterable[Artifact]) -> Artifacts:
    """Artifacts with the names of GPUs that tests of probes know."""
    return Artifacts(items, lambda: NAMES)


def log(*texts: str) -> Logs:
    """Logs of these texts."""
    return Logs(Artifact(f"log/{n}", "bundle", text) for n, text in enumerate(texts))


def found(**fields: Any) -> Finding:
    """A finding with these fields, and others that tell nothing."""
    return Finding(**{"title": "Title", "cause": "Cause.", "severity": "warning", "confidence": "high", **fields})
