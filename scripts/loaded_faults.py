"""Functions of the loaded package with other code: a fault of scripts/faults.py, put in and taken out."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import expected_calls as calls


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


_CACHES: list[Any] = []


def empty_caches(matrix: Any) -> None:
    """Empty what functions of the package remember, and what is kept with the matrix."""
    if not _CACHES:
        for name, module in list(sys.modules.items()):
            if name.startswith("rocm_doctor."):
                _CACHES.extend(
                    one for one in vars(module).values() if hasattr(one, "cache_clear") and hasattr(one, "__wrapped__")
                )
    for one in _CACHES:
        one.cache_clear()
    matrix.__dict__.pop("made", None)
