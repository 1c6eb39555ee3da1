"""uv.lock, poetry.lock and pylock.toml as one step: the packages that installing the project with some extras takes.

A uv.lock holds every fork of the resolution. The packages of one environment are those that are reached from the project over
dependencies whose extras hold; markers of systems and Pythons stay with the requirements and are judged for the target.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Index, Place, Requirement, Step
from rocm_doctor.lint.readers.files import Tree, quoted
from rocm_doctor.lint.readers.toml import items, load, strings, table

_TABLES = {"uvlock": "package", "poetrylock": "package", "pylock": "packages"}
_EXTRA = regex(r"""extra\s*(==|!=)\s*['"]([^'"]*)['"]""")
_TRUE, _FALSE = "os_name != ''", "os_name == ''"
MAX_MARKER = 2000
Entry = dict[str, Any]


def step(tree: Tree, path: str, kind: str, extras: Sequence[str] = ()) -> Step | None:
    """A lock as one step: packages pinned, each with the index that it came from and the marker under which it is taken."""
    loaded = load(tree, path)
    if loaded is None:
        return None
    entries = items(loaded[0].get(_TABLES[kind]))
    places = _places(path, tree.lines(path))
    taken = _reached(entries, extras, loaded[0].get("conflicts")) if kind == "uvlock" else _flat(entries)
    needed: list[Requirement] = []
    indexes: dict[tuple[str, str], Index] = {}
    for number, marker in sorted(taken.items()):
        entry = entries[number]
        name, version = entry.get("name"), entry.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            continue
        place = places[number] if number < len(places) else Place(path, 1)
        package = str(canonicalize_name(name))
        if not marker and _FOR_WINDOWS.search(_text(table(entry, "source").get("url"))):
            marker = "sys_platform == 'win32'"
        needed.append(Requirement(package, f"=={version}", place, url=_wheel_of(entry), marker=marker))
        if url := _locked_from(entry):
            indexes[url, package] = Index(url, "bound", place, (package,), marker)
    return Step("lock", Place(path, 1), tuple(needed), (), tuple(indexes.values()))


_FOR_WINDOWS = regex(r"-win(?:32|_\w+)\.whl$")


def is_stale(tree: Tree, path: str, bound: Mapping[str, set[str]]) -> bool:
    """True if a uv.lock takes a package from an index to which the project no longer binds it (`bound`, by package): uv then locks again."""
    loaded = load(tree, path)
    entries = items(loaded[0].get("package")) if loaded else []
    asked: dict[str, set[str]] = {}
    for entry in entries:
        if {".", "./"} & set(map(str, table(entry, "source").values())):
            metadata = table(entry, "metadata")
            groups = (*table(metadata, "requires-dev").values(), metadata.get("requires-dist"))
            for one in (one for group in groups for one in items(group)):
                asked.setdefault(str(one.get("name")), set()).add(_text(one.get("index")).rstrip("/"))
    locked: dict[str, set[str]] = {}
    for entry in entries:
        locked.setdefault(str(entry.get("name")), set()).add(_locked_from(entry).rstrip("/"))
    return any(
        (asked.get(name, set()) - {""}) - urls
        if asked.get(name, {""}) != {""}
        else name in asked and not locked.get(name, urls) & urls
        for name, urls in bound.items()
    )


def lacks(tree: Tree, path: str, extras: Sequence[str]) -> bool:
    """True if a uv.lock was made when the project had not yet one of these extras: uv locks again, or refuses."""
    loaded = load(tree, path)
    entries = items(loaded[0].get("package")) if loaded else []
    own = [one for one in entries if {".", "./"} & set(map(str, table(one, "source").values()))]
    held = [strings(table(one, "metadata").get("provides-extras")) for one in own]
    held += [list(table(one, part)) for one in own for part in ("optional-dependencies", "dev-dependencies")]
    known = {canonicalize_name(name) for names in held for name in names}
    return bool(own) and not known.issuperset(map(canonicalize_name, extras))


def _places(path: str, lines: list[str]) -> list[Place]:
    """The line with the name of each package, in the order of the file."""
    found: list[Place] = []
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith(("[[package]]", "[[packages]]")):
            inside = True
        elif inside and line.startswith("name = "):
            found.append(Place(path, number, quoted(line)))
            inside = False
    return found


def _flat(entries: list[Entry]) -> dict[int, str]:
    """Every package that is not optional, with its own marker."""
    return {n: _text(e.get("markers") or e.get("marker")) for n, e in enumerate(entries) if e.get("optional") is not True}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _reached(entries: list[Entry], extras: Sequence[str], conflicts: Any) -> dict[int, str]:
    """The packages that the project needs, with markers; all of them where the lock does not say which is the project."""
    root = next((n for n, e in enumerate(entries) if {".", "./"} & set(map(str, table(e, "source").values()))), None)
    if root is not None and not _edges(entries[root], entries[root].get("optional-dependencies") or (), first=True):
        return _flat(entries)
    if root is None:
        roots = [n for n, e in enumerate(entries) if table(e, "source").keys() & {"virtual", "editable"}]
        if not roots:
            return _flat(entries)
        starts = roots
    else:
        starts = [root]
    sets = [items(one) for one in conflicts] if isinstance(conflicts, list) else []
    dev = not any(any(e.get("extra") in extras for e in one) and any(e.get("group") == "dev" for e in one) for one in sets)
    by_name: dict[str, list[int]] = {}
    for n, entry in enumerate(entries):
        by_name.setdefault(str(entry.get("name")), []).append(n)
    marks: dict[int, str] = {}
    todo = deque((edge, "") for n in starts for edge in _edges(entries[n], extras, first=dev))
    wanted = {f"extra-{len(name)}-{name}-{extra}" for n in starts if (name := str(entries[n].get("name"))) for extra in extras}
    wanted |= set() if not dev else {f"group-{len(name)}-{name}-dev" for n in starts if (name := str(entries[n].get("name")))}
    budget = 200_000
    while todo and budget:
        edge, above = todo.popleft()
        budget -= 1
        own = _under(_text(edge.get("marker")), wanted)
        if own == _FALSE:
            continue
        marker = _both(above, own)
        for n in by_name.get(str(edge.get("name")), ()):
            if not _is_meant(edge, entries[n]):
                continue
            old = marks.get(n)
            new = marker if old is None else _either(old, marker)
            if old == new:
                continue
            marks[n] = new
            if old is None or (old and not new):
                todo += [(more, new) for more in _edges(entries[n], [str(e) for e in edge.get("extra") or ()])]
    return marks


def _edges(entry: Entry, extras: Sequence[str], *, first: bool = False) -> list[Entry]:
    found = items(entry.get("dependencies"))
    for extra in extras:
        found = found + items(table(entry, "optional-dependencies").get(extra))
    return found + (items(table(entry, "dev-dependencies").get("dev")) if first else [])


def _is_meant(edge: Entry, entry: Entry) -> bool:
    """True if a dependency is this very entry: where a package is locked twice it names the version and the index."""
    source = table(edge, "source")
    return edge.get("version") in (None, entry.get("version")) and (not source or source == table(entry, "source"))


def _under(marker: str, extras: set[str]) -> str:
    """A marker with its extras decided; empty where it always holds."""
    if not marker or "extra" not in marker:
        return marker

    def decided(m: re.Match[str]) -> str:
        return _TRUE if (m[2] in extras) is (m[1] == "==") else _FALSE

    text = _EXTRA.sub(decided, marker)
    plain = re.sub(r"\s+", " ", text)
    return _settled(plain)


_SYSTEMS = (("linux", "Linux", "posix"), ("win32", "Windows", "nt"), ("darwin", "Darwin", "posix"))
_PLACES = tuple(
    {"sys_platform": sys, "platform_system": name, "os_name": os, "platform_machine": machine, "python_version": f"3.{minor}",
     "python_full_version": f"3.{minor}.4", "implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for sys, name, os in _SYSTEMS for machine in ("x86_64", "aarch64") for minor in range(9, 15)
)  # fmt: skip


@lru_cache(maxsize=2048)
def _settled(marker: str) -> str:
    """A marker that holds everywhere is empty, one that holds nowhere is the false one; others stay as they are."""
    from packaging.markers import InvalidMarker, Marker

    try:
        parsed = Marker(marker)
    except InvalidMarker:
        return ""
    answers = {parsed.evaluate(dict(place)) for place in _PLACES}
    return marker if len(answers) > 1 else "" if answers == {True} else _FALSE


def _both(one: str, other: str) -> str:
    if not one or not other or one == other:
        return one or other
    return f"({one}) and ({other})" if len(one) + len(other) < MAX_MARKER else other


def _either(one: str, other: str) -> str:
    if not one or not other:
        return ""
    return one if other in one or len(one) + len(other) > MAX_MARKER else f"({one}) or ({other})"


def _locked_from(entry: Entry) -> str:
    """The index of a locked package: uv's source, poetry's source, pylock's index."""
    source = table(entry, "source")
    url = source.get("registry") or source.get("url") or entry.get("index")
    return url if isinstance(url, str) else ""


def _wheel_of(entry: Entry) -> str:
    """A wheel's address without the tags of its file, which is one of many: its local part tells a CPU build from a CUDA build."""
    url = next((url for wheel in items(entry.get("wheels")) if isinstance(url := wheel.get("url"), str)), "")
    return re.sub(r"-(?:cp|py)\d[^/]*\.whl", "", url)
