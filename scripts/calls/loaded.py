"""Functions of the loaded package with other code: a fault of scripts/faults.py, put in and taken out."""

from __future__ import annotations

import contextlib
import inspect
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from faults import ROOT

from calls import language as calls


@contextlib.contextmanager
def running(function: FunctionType, code: CodeType) -> Iterator[None]:
    """The function with other code."""
    sound = function.__code__
    try:
        function.__code__ = code
        yield
    finally:
        function.__code__ = sound


def codes(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Code of functions and methods by qualified name."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and "<" not in one.co_name:
            name = f"{prefix}{one.co_name}"
            if one.co_flags & 0x02:  # a function; a class body has no fast locals
                yield name, one
            else:
                yield from codes(one, f"{name}.")


def functions(place: str) -> dict[str, FunctionType]:
    """The functions of a module by qualified name, without what wraps them."""
    module = sys.modules[f"rocm_doctor.{place}"]
    found = {}
    for name, _ in codes(compile(Path(str(module.__file__)).read_text(encoding="utf-8"), "", "exec", dont_inherit=True)):
        target: Any = calls.resolved(f"{place}:{name}")
        while hasattr(target, "__wrapped__"):
            target = target.__wrapped__
        if isinstance(target, FunctionType):
            found[name] = target
    return found


class Late(BaseException):
    """A call took too long."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise Late after so many seconds of processor time."""

    def late(*_: Any) -> None:
        raise Late

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Caches:
    """What functions of the package remember. Those without parameters read tables: they are emptied only where the function with a fault
    has a part in reading them, for reading takes longer than most calls.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        found = {id(one): one for module in _package() for one in vars(module).values() if _remembers(one)}
        self.of_calls = [one for one in found.values() if inspect.signature(one).parameters]
        self.of_tables = [(one, _run_by(one)) for one in found.values() if not inspect.signature(one).parameters]

    def empty(self, function: str = "") -> None:
        """Empty what single calls left, and the tables that this function (`room.module:function`) has a part in."""
        for one in self.of_calls:
            one.cache_clear()
        for one, names in self.of_tables:
            if function in names:
                one.cache_clear()
        self.matrix.__dict__.pop("made", None)


def _package() -> list[ModuleType]:
    return [module for name, module in sys.modules.items() if name.startswith("rocm_doctor.")]


def _remembers(one: Any) -> bool:
    """Asked of the type: a pattern that is compiled when it is first asked for anything stays as it is."""
    return hasattr(type(one), "cache_clear")


@cache
def _run_by(table: Any) -> set[str]:
    """The functions that run when a table is read. All tables are read for it, so it is asked once in a process."""
    names: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (name := name_of(frame.f_code)):
            names.add(name)

    for one in (one for module in _package() for one in vars(module).values() if _remembers(one)):
        one.cache_clear()
    sys.setprofile(note)
    try:
        table()
    finally:
        sys.setprofile(None)
    return names


@cache
def name_of(code: CodeType) -> str:
    """The function of a code object as `room.module:function`; empty when it is none of the package."""
    path, name = Path(code.co_filename), getattr(code, "co_qualname", "<Python 3.10>")
    if not path.is_relative_to(ROOT / "rocm_doctor"):
        return ""
    place = ".".join(path.relative_to(ROOT / "rocm_doctor").with_suffix("").parts).removesuffix(".__init__")
    return f"{place}:{name.partition('.<locals>')[0]}" if not name.startswith("<") else ""
