"""Readers: each is a module with a function `read(tree, path) -> list[Environment]`, which may raise Unreadable. To add one, write it and
add it to these tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Kind, Place, Unread, UnreadReason
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
_KINDS: dict[Read, Kind] = {
    pyproject.read: "project", setuptools.read: "project", compose.read: "service",
}  # fmt: skip
"""What a file is that its reader cannot parse."""
_IMPORT = regex(r"^[ \t]*(?:import|from)[ \t]+(torch|jax|tensorflow)\b", re.MULTILINE)
_NO_DOCKERFILE = regex(r"\.(?:md|py|png|svg|jpg|dockerignore|j2|html|txt|rst|ya?ml|json|patch)$", re.I)


def files_pattern() -> str:
    """A pattern for the paths of all files that a reader may take."""
    return "|".join(f"(?i:{name.pattern})" if name.flags & re.I else name.pattern for name, _ in _BY_NAME)


def read(tree: Tree, paths: Iterable[str] | None = None) -> list[Environment]:
    """The environments of these files, of all of the repository where none are named; in the order of the files."""
    environments: list[Environment] = []
    wanted = list(tree.paths if paths is None else paths)
    for number, path in enumerate(wanted):
        if tree.is_late:
            tree.unread.append(Unread(Place(path, 1, f"and {len(wanted) - number} files after it"), UnreadReason.TIME))
            break
        named = paths is not None and path.endswith((".txt", ".in"))
        if reader := find_reader(path) or (requirements.read if named else None):
            try:
                environments += reader(tree, path)
            except Unreadable as exc:
                kind = _KINDS[reader]
                unread = Unread(Place(path, max(1, exc.line)), UnreadReason.SYNTAX, installs=kind == "project")
                environments.append(Environment(kind, Place(path, 1), unread=(unread,), files=(path,)))
            except RecursionError:
                tree.unread.append(Unread(Place(path, 1), UnreadReason.SYNTAX))
    return environments


def find_reader(path: str) -> Read | None:
    """The reader of a file, by its name; None for a file that no reader takes."""
    match = next((reader for name, reader in _BY_NAME if name.search(path)), None)
    return None if match is dockerfile.read and _NO_DOCKERFILE.search(path) else match


def find_frameworks(tree: Tree) -> dict[str, Place]:
    """The frameworks that Python files import (torch, jax, tensorflow), each with the first place."""
    frameworks: dict[str, Place] = {}
    for path in tree.paths:
        text = (tree.text(path) or "") if path.endswith(".py") and not tree.is_late else ""
        for match in _IMPORT.finditer(text):
            frameworks.setdefault(match[1], Place(path, text.count("\n", 0, match.start()) + 1, match[0].strip()))
    return frameworks
