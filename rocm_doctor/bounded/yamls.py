"""YAML measured before it is built: PyYAML composes by recursion in C, where 25 KB of `[` are a stack overflow, and a few lines
of aliases stand for millions of values.

The parser underneath works event by event with a stack of its own. So the events are counted first, aliases at their full size,
and only a text within the limits is composed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex

MAX_DEPTH = 60
"""Levels of nesting. Compose files and workflows have ten."""
MAX_NODES = 50_000
"""Keys, values and list items with aliases written out: 100 times a long workflow, and 0.1 s to build."""
MAX_DIRECTIVES = 20
"""Lines that begin with %: libyaml compares each with all before it."""
LONGEST_NUMBER = 400
"""Characters of an unquoted value that looks like a number: converting `1:1:1:...` is quadratic."""

_NUMBER = regex(r"[-+.]?[0-9]")


class _Open(NamedTuple):
    anchor: str | None
    nodes_before: int


def documents(text: str, most: int = MAX_NODES) -> list[Any]:
    """The composed documents, as nodes with their marks; empty ones are left out. Raises Unreadable if the text is not YAML or
    over a limit."""
    import yaml

    measure(text, most)
    try:
        return [root for root in yaml.compose_all(text, _loader()) if root is not None]
    except (yaml.YAMLError, ValueError) as exc:
        raise _no_yaml(text, exc) from exc


def values(text: str, most: int = MAX_NODES) -> Any:
    """The plain values of the one document. Raises Unreadable if the text is not YAML, has several documents, or is over a
    limit."""
    import yaml

    measure(text, most)
    try:
        return yaml.load(text, _loader())
    except MemoryError:
        raise
    except Exception as exc:  # PyYAML's constructors raise whatever their steps do (`!!int ""`: IndexError)
        raise _no_yaml(text, exc) from exc


def measure(text: str, most: int = MAX_NODES) -> None:
    """Raise Unreadable for a text that is not YAML, or too deep or too much to be built."""
    import yaml

    if text.count("\n%") > MAX_DIRECTIVES:
        raise Unreadable(f"more than {MAX_DIRECTIVES} directives")
    count = 0
    open_: list[_Open] = []
    sizes: dict[str, tuple[int, int]] = {}
    deepest: list[int] = []
    try:
        for event in yaml.parse(text, _loader()):
            if isinstance(event, yaml.AliasEvent):
                size, depth = sizes.get(str(event.anchor), (1, 0))
            elif isinstance(event, yaml.ScalarEvent):
                size, depth = 1, 0
                if event.anchor:
                    sizes[event.anchor] = 1, 0
                if len(event.value) > LONGEST_NUMBER and (event.tag or not event.style) and _NUMBER.match(event.value):
                    raise Unreadable(f"a number of {len(event.value)} digits", _line(event))
            elif isinstance(event, yaml.CollectionStartEvent):
                size, depth = 1, 0
                # Until it is closed, an alias to it is an alias into itself.
                if event.anchor:
                    sizes[event.anchor] = most, 0
                open_.append(_Open(event.anchor, count))
                deepest.append(0)
            elif isinstance(event, yaml.CollectionEndEvent):
                ended, below = open_.pop(), deepest.pop()
                if ended.anchor:
                    sizes[ended.anchor] = count - ended.nodes_before, below + 1
                size, depth = 0, below + 1
            else:
                continue
            count += size
            if deepest:
                deepest[-1] = max(deepest[-1], depth)
            if count > most or len(open_) + depth > MAX_DEPTH:
                raise Unreadable(
                    f"more than {most} values or {MAX_DEPTH} levels with its aliases written out (a YAML bomb?)",
                    _line(event),
                )
    except (yaml.YAMLError, ValueError) as exc:
        raise _no_yaml(text, exc) from exc


def _loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _no_yaml(text: str, exc: Exception) -> Unreadable:
    if isinstance(exc, Unreadable):
        return exc
    mark = getattr(exc, "problem_mark", None)
    words = getattr(exc, "problem", None) or str(exc).split("\n")[0]
    # At the end of a text the parser names the line after the last.
    return Unreadable(f"no YAML: {words[:200]}", min(mark.line, text.count("\n")) + 1 if mark else 0)
