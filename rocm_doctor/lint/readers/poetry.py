"""Poetry's own tables: dependencies by name, sources with priorities.

Reference: https://python-poetry.org/docs/repositories/
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.lint.declared import Index, Place, Requirement, Role, Step
from rocm_doctor.lint.readers import requirements
from rocm_doctor.lint.readers.toml import Lines, items, strings, table


def step(data: dict[str, Any], lines: Lines, extras: Sequence[str]) -> Step:
    """What a project installs, with the optional packages and groups of these names."""
    poetry = table(data, "tool", "poetry")
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [
        table(group, "dependencies")
        for name, group in table(poetry, "group").items()
        if group.get("optional") is not True or name in extras
    ]
    taken = {name for extra in extras for name in strings(table(poetry, "extras").get(extra))}
    needed: list[Requirement] = []
    bound: dict[str, list[str]] = {}
    for name, value in (pair for one in tables for pair in one.items()):
        for entry in value if isinstance(value, list) else [value]:
            optional = isinstance(entry, dict) and entry.get("optional") is True
            if name != "python" and (not optional or name in taken):
                needed.append(_requirement(name, entry, lines))
                if isinstance(entry, dict) and isinstance(entry.get("source"), str):
                    bound.setdefault(entry["source"], []).append(str(canonicalize_name(name)))
    indexes = [_index(entry, bound, lines) for entry in items(poetry.get("source")) if isinstance(entry.get("url"), str)]
    return Step("poetry", lines.place("[tool.poetry"), tuple(needed), (), tuple(indexes))


def _requirement(name: str, entry: Any, lines: Lines) -> Requirement:
    entry = {"version": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
    version, url = str(entry.get("version") or "*"), str(entry.get("url") or entry.get("file") or "")
    direct = requirements.one(url, Place("", 0)) if url else []
    place = lines.place(name, "=", url or version)
    return Requirement(
        str(canonicalize_name(name)),
        direct[0].spec if direct else as_pep440(version),
        place,
        tuple(strings(entry.get("extras"))),
        url,
        str(entry.get("markers") or ""),
    )


def _index(entry: dict[str, Any], bound: dict[str, list[str]], lines: Lines) -> Index:
    only = tuple(bound.get(str(entry.get("name")), ()))
    priority = str(entry.get("priority") or "primary")
    roles: dict[str, Role] = {"explicit": "bound", "supplemental": "extra", "primary": "extra", "default": "default"}
    return Index(entry["url"], "bound" if only else roles.get(priority, "extra"), lines.place(entry["url"]), only)


def as_pep440(version: str) -> str:
    """Poetry's ^ and ~ as PEP 440 ranges: ^2.6 is >=2.6,<3; ~2.6 is >=2.6,<2.7; a bare number is that version."""
    found = re.fullmatch(r"([\^~])\s*(\d+)(?:\.(\d+))?(\.\d+)*", version.strip())
    if found is None:
        bare = version.strip()
        return "" if bare == "*" else f"=={bare}" if re.match(r"\d", bare) else bare
    lower, major, minor = version.strip()[1:].strip(), int(found[2]), int(found[3] or 0)
    upper = f"{major}.{minor + 1}" if (found[1] == "~" and found[3]) or major == 0 else f"{major + 1}"
    return f">={lower},<{upper}"
