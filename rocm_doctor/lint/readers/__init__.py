"""Readers: each is a module with a function `read(tree, path) -> list[Environment]`, which may raise Unreadable. To add one, write it and
add it to these tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Kind, Place, Reason, Unread
from rocm_doctor.lint.readers import (
    compose,
    dockerfile,
    pyproject,
    requirements,
    scripts,
    setuptools,
)
from rocm_doctor.lint.tree import Tree

Read = Callable[[Tree, str], list[Environment]]
_BY_NAME: tuple[tuple[re.Pattern[str], Read], ...] = (
    (regex(r"(?:^|/)(?:[^/]*[-_.])?requirements[^/]*\.(?:txt|in)$|(?:^|/)requirements/[^/]+\.(?:txt|in)$"), requirements.read),
    (regex(r"(?:^|/)pyproject\.toml$"), pyproject.read),
    (regex(r"(?:^|/)setup\.py$"), setuptools.read),
    (regex(r"(?:^|/)(?:[^/]*[._-])?(?:Dockerfile|Containerfile)(?:[._-][^/]*)?$", re.I), dockerfile.read),
    (regex(r"\.(?:sh|bash)$"), scripts.read),
    (regex(r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$"), compose.read),
)
_BY_TEXT: tuple[tuple[Callable[[str], bool], Read], ...] = ((compose.is_compose, compose.read),)
_KINDS: dict[Read, Kind] = {
    pyproject.read: "project", setuptools.read: "project", compose.read: "service",
}  # fmt: skip
"""What a file is that its reader cannot parse."""
_IMPORT = regex(r"^[ \t]*(?:import|from)[ \t]+(torch|jax|tensorflow)\b", re.MULTILINE)
_TEXTS = regex(r"\.ya?ml$")
MAX_TEXT, MAX_CONFIG = 2**18, 2**15
"""The size of a text whose first keys decide its kind, and of one that is then read: what a person writes is smaller, and data are larger."""
_NO_DOCKERFILE = regex(r"\.(?:md|py|png|svg|jpg|dockerignore|j2|html|txt|rst|ya?ml|json|patch)$", re.I)


def files_pattern() -> str:
    """A pattern for the paths of all files that a reader may take: by their names, and those whose text decides."""
    named = [f"(?i:{name.pattern})" if name.flags & re.I else name.pattern for name, _ in _BY_NAME]
    return "|".join([*named, _TEXTS.pattern, r"(?:^|/)[^./]+$"])


def read(tree: Tree, paths: Iterable[str] | None = None) -> list[Environment]:
    """The environments of these files, of all of the repository where none are named; in the order of the files."""
    found: list[Environment] = []
    wanted = list(tree.paths if paths is None else paths)
    for number, path in enumerate(wanted):
        if tree.is_late:
            tree.unread.append(Unread(Place(path, 1, f"and {len(wanted) - number} files after it"), Reason.TIME))
            break
        named = paths is not None and path.endswith((".txt", ".in"))
        if reader := find_reader(tree, path) or (requirements.read if named else None):
            try:
                found += reader(tree, path)
            except Unreadable as exc:
                kind = _KINDS[reader]
                unread = Unread(Place(path, max(1, exc.line)), Reason.SYNTAX, installs=kind == "project")
                found.append(Environment(kind, Place(path, 1), unread=(unread,), files=(path,)))
            except RecursionError:
                tree.unread.append(Unread(Place(path, 1), Reason.SYNTAX))
    return found


def find_reader(tree: Tree, path: str) -> Read | None:
    """The reader of a file, by its name, else by the keys that it holds; None for a file that no reader takes."""
    for name, reader in _BY_NAME:
        if name.search(path):
            return None if reader is dockerfile.read and _NO_DOCKERFILE.search(path) else reader
    if not _TEXTS.search(path):
        return scripts.read if "." not in path.rpartition("/")[2] and scripts.is_script(tree, path) else None
    text = (tree.text(path) or "") if tree.size(path) <= MAX_TEXT else ""
    found = next((read_it for fits, read_it in _BY_TEXT if fits(text[:MAX_CONFIG])), None)
    if found is not None and len(text) > MAX_CONFIG:
        tree.unread.append(Unread(Place(path, 1), Reason.SIZE))
        return None
    return found


def find_frameworks(tree: Tree) -> dict[str, Place]:
    """The frameworks that Python files import (torch, jax, tensorflow), each with the first place."""
    found: dict[str, Place] = {}
    for path in tree.paths:
        text = (tree.text(path) or "") if path.endswith(".py") and not tree.is_late else ""
        for one in _IMPORT.finditer(text):
            found.setdefault(one[1], Place(path, text.count("\n", 0, one.start()) + 1, one[0].strip()))
    return found
