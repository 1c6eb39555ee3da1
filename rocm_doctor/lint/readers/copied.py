"""What a COPY takes from the folder of the build that the repository does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.shell import Context

_PLAIN = regex(r"(?:\./)?[\w-][\w./+-]*")
_PATTERN = regex(r"[\w./+-]*[\w.+-]\*[\w.*+-]*|[\w./+-]*\*[\w.+-]+")
_DOCKERFILE = regex(r"(?:^|/)(?:[\w.-]+\.)?(?:docker|container)file[\w.-]*$", re.I)


def missing(sources: Sequence[str], place: Place, context: Context) -> ReadProblem | None:
    """The first of the sources that the folder of the build certainly lacks: neither a text nor .gitignore or .gitmodules names it, so that nothing makes it.

    Where the folder is not said by another file, it is that of a Dockerfile at the root.
    """
    if not context.declared and folder_of(place.file):
        return None
    for source in sources:
        path = joined(context.folder, source) if _PLAIN.fullmatch(source) else None
        if path and not context.tree.exists(path) and not _known(path, context.tree):
            return ReadProblem(place, f"COPY takes {source}, which is not in the repository", "gone")
    patterns = [joined(context.folder, source) for source in sources]
    if sources and all(p and _PATTERN.fullmatch(p) and not context.tree.matching(p) for p in patterns):
        return ReadProblem(place, f"COPY takes {' '.join(sources)}, which fits nothing in the repository")
    return None


def _known(path: str, tree: Tree) -> bool:
    """`_may_come`, asked once for each path: that reads the whole repository."""
    if (key := f"may come: {path}") not in tree.parsed:
        tree.parsed[key] = _may_come(path, tree)
    return bool(tree.parsed[key])


def _may_come(path: str, tree: Tree) -> bool:
    """True if something else in the repository names a file or one of its folders: it may be made, or brought by the user."""
    parts = path.split("/")
    if any(fits(part, name) for name in _ignored(tree, path) for part in parts) or tree.has(parts[-1]):
        return True
    named = re.compile(rb"(?<![\w-])" + re.escape(parts[-1].encode()) + rb"(?![\w-])")
    return any(not _DOCKERFILE.search(place.file) for place, _ in tree.mentions(named, (parts[-1].encode().lower(),)))


def _ignored(tree: Tree, path: str) -> Iterator[str]:
    """The last parts of what .gitignore and .gitmodules name, at the root and in the folders of a path."""
    folders = ["", *("/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1))]
    for name in (f"{folder}/{file}".lstrip("/") for folder in folders for file in (".gitignore", ".gitmodules")):
        for line in (tree.text_if_there(name) or "").splitlines():
            words = line.partition("=")[2] if name.endswith(".gitmodules") else line
            if last := words.strip().rstrip("/").rpartition("/")[2]:
                yield last.lstrip("!")[:200]
