"""pyproject.toml (PEP 621, groups, uv, poetry) and the locks uv.lock, poetry.lock, pylock.toml: steps with file and line.

The parser gives values without positions; each value is looked up in the text again, in order, to name its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.bounded import Unreadable, tomls
from rocm_doctor.lint.declared import Index, Place, ReadProblem, Requirement, Role, Setting, Step
from rocm_doctor.lint.readers import requirements
from rocm_doctor.lint.readers.files import Tree, quoted


class Lines:
    """Finds the line of a value in a text. Values are asked for in about the order in which they stand there."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self._at = 0
        # A file in which nothing is found where it should be would be searched whole for each value.
        self._budget = 1_000_000 + 10 * len(self.lines)

    def place(self, *needles: str) -> Place:
        """The next line that holds all the needles, going on from the last hit; else the first one; else line 1."""
        for start, stop in ((self._at, len(self.lines)), (0, self._at)):
            for number in range(start, stop if self._budget > 0 else start):
                self._budget -= 1
                if all(n in self.lines[number] for n in needles):
                    self._at = number
                    return Place(self.file, number + 1, quoted(self.lines[number]))
        return Place(self.file, 1)


def load(tree: Tree, path: str) -> tuple[dict[str, Any], Lines] | None:
    """The values of a TOML file; None, with a trouble at the line, when it is none."""
    text = tree.text(path)
    if text is None:
        return None
    try:
        return tomls.values(text), Lines(path, text)
    except Unreadable as exc:
        tree.problems.append(ReadProblem(Place(path, max(1, exc.line)), f"not read: {exc}"))
        return None


def table(data: Any, *keys: str) -> dict[str, Any]:
    """A nested table, empty where it is missing or is something else."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def items(data: Any) -> list[dict[str, Any]]:
    """The tables of an array of tables."""
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def project_steps(tree: Tree, path: str) -> tuple[list[Step], Setting | None]:
    """What installing the project asks for, by the tool that its tables name, and the Pythons that it allows."""
    loaded = load(tree, path)
    if loaded is None:
        return [], None
    data, lines = loaded
    python = _requires_python(data, lines)
    steps = [step for step in (_uv_step(data, lines, tree), _poetry_step(data, lines)) if step.requirements]
    return steps, python


def _requires_python(data: dict[str, Any], lines: Lines) -> Setting | None:
    value = table(data, "project").get("requires-python") or table(data, "tool", "poetry", "dependencies").get("python")
    if not isinstance(value, str):
        return None
    return Setting("requires-python", _caret(value), lines.place("python", value))


def _uv_step(data: dict[str, Any], lines: Lines, tree: Tree) -> Step:
    """PEP 621 dependencies with groups and extras. With a [tool.uv] table uv installs them, else pip."""
    uv = table(data, "tool", "uv")
    texts = _texts(data)
    needed = [r for text in texts for r in requirements.one(text, lines.place(_name(text), text[:60]), tree.problems)]
    place = lines.place("[tool.uv") if uv else lines.place("[project")
    bound = dict(_sources(uv))
    indexes = [*_uv_indexes(uv, bound, lines), *_pdm_indexes(data, lines)]
    constraints = [
        r
        for text in _strings(uv.get("constraint-dependencies")) + _strings(uv.get("override-dependencies"))
        for r in requirements.one(text, lines.place(text))
    ]
    strategy = uv.get("index-strategy") if isinstance(uv.get("index-strategy"), str) else table(uv, "pip").get("index-strategy")
    return Step("uv" if uv else "pip", place, tuple(needed), tuple(constraints), tuple(indexes), str(strategy or ""))


def _name(text: str) -> str:
    found = re.match(r"\s*([A-Za-z0-9._-]+)", text)
    return found[1] if found else text[:20]


# Extras that a person who trains on a ROCm GPU installs; others (dev tools, other vendors' kernels) are a choice that nobody
# made yet.
_TAKEN = frozenset(("rocm", "amd", "hip", "torch", "train", "training", "gpu", "all"))


def _texts(data: dict[str, Any]) -> list[str]:
    """Requirement strings in the order of the file: main, the extras that are taken, groups."""
    project = table(data, "project")
    found = _strings(project.get("dependencies"))
    for name, extra in table(project, "optional-dependencies").items():
        found += _strings(extra) if name.lower() in _TAKEN else []
    for group in table(data, "dependency-groups").values():
        found += _strings(group)
    return found + _strings(table(data, "tool", "uv").get("dev-dependencies"))


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _sources(uv: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Package and the index (or URL) that [tool.uv.sources] binds it to."""
    for name, source in table(uv, "sources").items():
        for one in [source] if isinstance(source, dict) else items(source):
            target = one.get("index") or one.get("url")
            if isinstance(target, str):
                yield str(canonicalize_name(name)), target


def _uv_indexes(uv: dict[str, Any], bound: dict[str, str], lines: Lines) -> Iterator[Index]:
    for entry in items(uv.get("index")):
        url, name = entry.get("url"), entry.get("name")
        if not isinstance(url, str):
            continue
        only = tuple(package for package, source in bound.items() if source == name)
        place = lines.place(url)
        if only or entry.get("explicit") is True:
            yield Index(url, "bound", place, only)
        if entry.get("explicit") is not True:
            yield Index(url, "default" if entry.get("default") is True else "extra", place)
    yield from _flat_uv_indexes({**uv, **table(uv, "pip")}, lines)
    yield from (Index(url, "bound", lines.place(url), (package,)) for package, url in bound.items() if "://" in url)


def _flat_uv_indexes(uv: dict[str, Any], lines: Lines) -> Iterator[Index]:
    if isinstance(uv.get("index-url"), str):
        yield Index(uv["index-url"], "default", lines.place(uv["index-url"]))
    yield from (Index(url, "extra", lines.place(url)) for url in _strings(uv.get("extra-index-url")))
    yield from (Index(url, "find-links", lines.place(url)) for url in _strings(uv.get("find-links")))


def _pdm_indexes(data: dict[str, Any], lines: Lines) -> Iterator[Index]:
    """PDM's sources: one called pypi takes the place of the default, the others are asked as well."""
    for entry in items(table(data, "tool", "pdm").get("source")):
        if isinstance(entry.get("url"), str):
            yield Index(entry["url"], "default" if entry.get("name") == "pypi" else "extra", lines.place(entry["url"]))


def _poetry_step(data: dict[str, Any], lines: Lines) -> Step:
    """Poetry's own tables: dependencies by name, sources with priorities (docs: python-poetry.org/docs/repositories)."""
    poetry = table(data, "tool", "poetry")
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [table(group, "dependencies") for group in table(poetry, "group").values()]
    needed: list[Requirement] = []
    bound: dict[str, list[str]] = {}
    for name, value in (pair for one in tables for pair in one.items()):
        for entry in value if isinstance(value, list) else [value]:
            if name != "python":
                needed.append(_poetry_requirement(name, entry, lines))
                if isinstance(entry, dict) and isinstance(entry.get("source"), str):
                    bound.setdefault(entry["source"], []).append(str(canonicalize_name(name)))
    indexes = [_poetry_index(entry, bound, lines) for entry in items(poetry.get("source")) if isinstance(entry.get("url"), str)]
    return Step("poetry", lines.place("[tool.poetry"), tuple(needed), (), tuple(indexes))


def _poetry_requirement(name: str, entry: Any, lines: Lines) -> Requirement:
    entry = {"version": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
    version, url = str(entry.get("version") or "*"), str(entry.get("url") or entry.get("file") or "")
    direct = requirements.one(url, Place("", 0)) if url else []
    place = lines.place(name, "=", url or version)
    return Requirement(
        str(canonicalize_name(name)),
        direct[0].spec if direct else _caret(version),
        place,
        tuple(_strings(entry.get("extras"))),
        url,
    )


def _poetry_index(entry: dict[str, Any], bound: dict[str, list[str]], lines: Lines) -> Index:
    only = tuple(bound.get(str(entry.get("name")), ()))
    priority = str(entry.get("priority") or "primary")
    roles: dict[str, Role] = {"explicit": "bound", "supplemental": "extra", "primary": "extra", "default": "default"}
    return Index(entry["url"], "bound" if only else roles.get(priority, "extra"), lines.place(entry["url"]), only)


def _caret(version: str) -> str:
    """Poetry's ^ and ~ as PEP 440 ranges: ^2.6 is >=2.6,<3; ~2.6 is >=2.6,<2.7; a bare number is that version."""
    found = re.fullmatch(r"([\^~])\s*(\d+)(?:\.(\d+))?(\.\d+)*", version.strip())
    if found is None:
        bare = version.strip()
        return "" if bare == "*" else f"=={bare}" if re.match(r"\d", bare) else bare
    lower, major, minor = version.strip()[1:].strip(), int(found[2]), int(found[3] or 0)
    upper = f"{major}.{minor + 1}" if (found[1] == "~" and found[3]) or major == 0 else f"{major + 1}"
    return f">={lower},<{upper}"


_LOCKED = {"uvlock": "package", "poetrylock": "package", "pylock": "packages"}


def lock_step(tree: Tree, path: str, kind: str) -> Step | None:
    """A lock as one step: every package pinned, with the index that it came from."""
    loaded = load(tree, path)
    if loaded is None:
        return None
    data, lines = loaded
    needed: list[Requirement] = []
    indexes: dict[tuple[str, str], Index] = {}
    for entry in items(data.get(_LOCKED[kind])):
        name, version = entry.get("name"), entry.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            continue
        place = lines.place("name", f'"{name}"')
        package = str(canonicalize_name(name))
        url = _locked_from(entry)
        needed.append(Requirement(package, f"=={version}", place, url=_wheel_of(entry)))
        if url:
            indexes[url, package] = Index(url, "bound", place, (package,))
    return Step("lock", Place(path, 1), tuple(needed), (), tuple(indexes.values()))


def _locked_from(entry: dict[str, Any]) -> str:
    """The index of a locked package: uv's source, poetry's source, pylock's index."""
    source = table(entry, "source")
    url = source.get("registry") or source.get("url") or entry.get("index")
    return url if isinstance(url, str) else ""


def _wheel_of(entry: dict[str, Any]) -> str:
    """The URL of a wheel where the lock names one: it tells a CPU build from a CUDA build."""
    for wheel in items(entry.get("wheels")):
        url = wheel.get("url")
        if isinstance(url, str):
            return url
    return ""
