"""Faults of scripts/faults.py put into loaded code: into a function, or into what a module made when it was imported."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import expected_calls as calls

Values = list[tuple[ModuleType, str, Any, Any]]
"""Modules and names in them, with the value that is there and another one."""


@contextlib.contextmanager
def replaced(put: Values) -> Iterator[None]:
    """The other values, as long as it lasts."""
    try:
        for other, key, _, new in put:
            setattr(other, key, new)
        yield
    finally:
        for other, key, old, _ in put:
            setattr(other, key, old)


@contextlib.contextmanager
def running(function: FunctionType, code: CodeType) -> Iterator[None]:
    """The function with other code."""
    sound = function.__code__
    try:
        function.__code__ = code
        yield
    finally:
        function.__code__ = sound


def made_anew(module: ModuleType, plain: CodeType, after: CodeType) -> Values:
    """What a module makes at import that a fault changes, wherever it was imported to. Raises what the fault makes the import raise."""
    was, now = _executed(module, plain), _executed(module, after)
    changed = [n for n in was if n in now and _plain(was[n]) and _seen(was[n]) != _seen(now[n]) and hasattr(module, n)]
    return [(other, key, getattr(module, n), now[n]) for n in changed for other, key in _holders(getattr(module, n), module, n)]


def _executed(module: ModuleType, code: CodeType) -> dict[str, Any]:
    space = {"__name__": module.__name__, "__file__": module.__file__, "__package__": module.__package__}
    exec(code, space)
    return space


def _plain(value: Any) -> bool:
    return not isinstance(value, (type, ModuleType, FunctionType)) and not hasattr(value, "__wrapped__")


def _seen(value: Any) -> str:
    return f"{value.pattern!r} {value.flags}" if hasattr(value, "pattern") else re.sub(r" at 0x\w+", "", repr(value))


def _holders(value: Any, module: ModuleType, name: str) -> Iterator[tuple[ModuleType, str]]:
    yield module, name
    for place, other in list(sys.modules.items()):
        if place.startswith("rocm_doctor.") and other is not module and vars(other).get(name) is value:
            yield other, name


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
