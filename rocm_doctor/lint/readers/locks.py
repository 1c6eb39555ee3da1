"""Locks: uv.lock, poetry.lock, pdm.lock and pylock.toml. What a lock names is what is installed."""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.bounded import tomls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Index, Install, Place, Reason, Requirement, Unread
from rocm_doctor.lint.tree import Tree

_NAME = regex(r'^name = "([^"\n]+)"$')


def read(tree: Tree, path: str) -> list[Environment]:
    """The environment of a lock. Where it holds several torch (forks of uv), which of them is installed is not read. Raises Unreadable."""
    text = tree.text(path) or ""
    data = tomls.values(text)
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("name = ") and (named := _NAME.match(line)):
            lines.setdefault(named[1], number)
    packages = data.get("package") or data.get("packages") or []
    asked: list[Requirement] = []
    indexes: list[Index] = []
    seen: dict[str, int] = {}
    for one in packages if isinstance(packages, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("version"), str):
            continue
        name = canonicalize_name(str(one.get("name")))
        seen[name] = seen.get(name, 0) + 1
        place = Place(path, lines.get(str(one.get("name")), 1), f"{name} {one['version']}")
        asked.append(Requirement(name, f"=={one['version']}", place))
        if url := _index(one):
            indexes.append(Index(url, "default", place, (name,)))
    if not asked:
        return []
    forks = seen.get("torch", 0) > 1
    first = next((r.place for r in asked if r.name == "torch"), Place(path, 1))
    unread = (Unread(first, Reason.EXPRESSION, True),) if forks else ()
    kept = tuple(r for r in asked if not (forks and r.name in ("torch", "torchvision", "torchaudio")))
    step = Install("lock", first, kept, tuple(indexes), without_dependencies=True)
    return [Environment("lock", Place(path, 1), steps=(*unread, step), unread=unread, files=(path,))]


def _index(one: dict[str, Any]) -> str:
    source = one.get("source")
    if isinstance(source, dict):
        return str(source.get("registry") or source.get("url") or source.get("git") or "")
    return str(one.get("index") or "")
