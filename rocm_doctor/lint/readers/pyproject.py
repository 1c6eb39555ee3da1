"""pyproject.toml: the project, its extras and dependency groups, and the sources of uv."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from packaging.utils import canonicalize_name

from rocm_doctor.bounded import Unreadable, tomls
from rocm_doctor.lint.model import Environment, Install, PackageIndex, Place, Requirement, Unread, UnreadReason
from rocm_doctor.lint.readers.options import ROLES
from rocm_doctor.lint.readers.requirements import ELSEWHERE, parse_specification
from rocm_doctor.lint.tree import Tree

TORCH = ("torch", "torchvision", "torchaudio")
_FRAMEWORKS = (*TORCH, "jax", "tensorflow")


class Project:
    """The tables of a pyproject.toml, with the line of each word."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.path, self.text = path, tree.text(path) or ""
        self.lines = self.text.split("\n")
        self.data = tomls.values(self.text)

    def table(self, *keys: str) -> dict[str, Any]:
        """A table; an empty one where it is not there."""
        at: Any = self.data
        for key in keys:
            at = at.get(key) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else {}

    def place(self, *words: str, after: int = 0) -> Place:
        """The first line after line `after` (counted from 1) that holds all of the words; without one, line `after` itself, or
        line 1."""
        number = next(
            (n for n, line in enumerate(self.lines[after:], after + 1) if all(word in line for word in words)), after or 1
        )
        return Place(self.path, number, self.lines[number - 1].strip()[:200])

    def requirement(self, text: str, after: int) -> Requirement | None:
        """A requirement of PEP 508 as it is written in a list."""
        quoted = text.replace('"', '\\"')
        return parse_specification(text, self.place(f'"{quoted}"' if f'"{quoted}"' in self.text else text, after=after))

    def requirements(self, key: str, texts: object) -> list[Requirement]:
        """The requirements of the list of that key; what is not a requirement is left out."""
        listed = texts if isinstance(texts, list) else []
        start = re.compile(rf"""["']?{re.escape(key)}["']?\s*=\s*\[""")
        after = next((n for n, line in enumerate(self.lines) if start.match(line.strip())), 0)
        return [r for text in listed if isinstance(text, str) and (r := self.requirement(text, after))]

    @property
    def name(self) -> str:
        return canonicalize_name(str(self.table("project").get("name") or ""))

    @property
    def extras(self) -> dict[str, list[Requirement]]:
        """The requirements of each extra and dependency group by its name; where both have a name, those of the group."""
        optional = {**self.table("project", "optional-dependencies"), **self.table("dependency-groups")}
        return {str(name): self.requirements(str(name), texts) for name, texts in optional.items()}

    def base(self) -> list[Requirement]:
        """What the project itself requires."""
        return self.requirements("dependencies", self.table("project").get("dependencies"))

    def indexes(self, extra: str) -> tuple[list[PackageIndex], list[Unread]]:
        """(indexes, unread) that uv asks for the project with one extra (empty: without any). A package's own index behind a
        marker counts if the marker is for Linux; what else decides where torch comes from is `unread`."""
        indexes: list[PackageIndex] = []
        unread: list[Unread] = []
        uv = self.table("tool", "uv")
        listed = [i for i in uv.get("index") or () if isinstance(i, dict) and isinstance(i.get("url"), str)]
        named = {str(i.get("name")): i["url"] for i in listed}
        for entry in listed:
            if not entry.get("explicit"):
                place = self.place(entry["url"])
                indexes.append(PackageIndex(entry["url"], "default" if entry.get("default") else "extra", place))
        for table in (uv, self.table("tool", "uv", "pip")):
            for option, role in ROLES.items():
                urls = table.get(option[2:]) or ()
                named_urls = [urls] if isinstance(urls, str) else [url for url in urls if isinstance(url, str)]
                indexes += [PackageIndex(url, role, self.place(url)) for url in named_urls]
        for package, source in self.table("tool", "uv", "sources").items():
            for entry in source if isinstance(source, list) else [source]:
                if not isinstance(entry, dict) or (entry.get("extra") or entry.get("group") or extra) != extra:
                    continue
                url = named.get(str(entry.get("index")), "")
                place = self.place(package, str(entry.get("index"))) if url else self.place(package)
                marker = str(entry.get("marker", ""))
                if url and (not marker or ("linux" in marker and "!=" not in marker)):
                    indexes.append(PackageIndex(url, "default", place, (canonicalize_name(package),)))
                elif canonicalize_name(package) == "torch" and not (url and "linux" not in marker and "platform" in marker):
                    unread.append(Unread(place, UnreadReason.EXPRESSION, True))
        return indexes, unread


def read(tree: Tree, path: str) -> list[Environment]:
    """The project, and the project with each extra that concerns the GPU stack; without requirements it is left out. Raises
    Unreadable if the file is not TOML."""
    project = Project(tree, path)
    base, extras = project.base(), project.extras
    elsewhere = ELSEWHERE.search(project.text) is not None
    environments: list[Environment] = []
    for extra in ("", *extras):
        asked = [*base, *_expand_extras(extra, extras, project.name)]
        indexes, unread = project.indexes(extra)
        if not asked or (extra and not concerns_gpu(extra, extras[extra])):
            continue
        place = extras[extra][0].place if extra and extras[extra] else project.place(extra or "[project]")
        tool = "uv" if project.table("tool", "uv") else "pip"
        step = Install(tool, place, tuple(asked), tuple(indexes))  # type: ignore[arg-type]
        environments.append(
            Environment(
                "project", place, extra, steps=(*unread, step), unread=tuple(unread), files=(path,), has_torch_elsewhere=elsewhere
            )
        )
    return environments


def dependencies(tree: Tree, path: str, extras: Sequence[str]) -> list[Requirement] | None:
    """What `pip install PROJECT[extras]` asks for; None for a project whose requirements no pyproject.toml states."""
    try:
        project = Project(tree, path)
    except Unreadable:
        return None
    table = project.table("project")
    if not table or "dependencies" in (table.get("dynamic") or ()):
        return None
    groups = project.extras
    return [*project.base(), *(r for extra in extras for r in _expand_extras(extra, groups, project.name))]


def _expand_extras(extra: str, extras: dict[str, list[Requirement]], name: str, depth: int = 0) -> Iterable[Requirement]:
    """The requirements of an extra, with those of extras that it names of the same project."""
    for r in extras.get(extra, ()):
        if r.name == name and r.extras and depth < 4:
            for other in r.extras:
                yield from _expand_extras(other, extras, name, depth + 1)
        else:
            yield r


def concerns_gpu(extra: str, asked: Sequence[Requirement]) -> bool:
    """True for an extra that names a framework, or whose name says hardware."""
    words = extra.lower().replace("_", "-").split("-")
    named = any(word.startswith(("rocm", "amd", "cuda", "cu1", "gpu", "cpu", "hip", "gfx")) for word in words)
    return named or any(r.name in _FRAMEWORKS for r in asked)
