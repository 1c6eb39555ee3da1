"""What a COPY takes from the folder of the build that the repository does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, cast

from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.shell import Context

_PLAIN = regex(r"(?:\./)?[\w-][\w./+-]*")
_PATTERN = regex(r"[\w./+-]*[\w.+-]\*[\w.*+-]*|[\w./+-]*\*[\w.+-]+")
_CODE = regex(r"\.(?:py|ipynb|kt|java|js|ts|tsx|go|rs|c|cc|cpp|h|hpp|log)$", re.I)
_DOCKERFILE = regex(r"(?:^|/)(?:[\w.-]+\.)?(?:docker|container)file[\w.-]*$", re.I)


def missing(sources: Sequence[str], place: Place, context: Context) -> ReadProblem | None:
    """The first of the sources that the folder of the build lacks. It is certainly `gone` where neither a text nor .gitignore or .gitmodules names it,
    so that nothing makes it; where only the program's code does, that may make it.

    Where the folder is not said by another file, it is that of a Dockerfile at the root.
    """
    if not context.declared and folder_of(place.file):
        return None
    for source in sources:
        path = joined(context.folder, source) if _PLAIN.fullmatch(source) else None
        by = _named_by(path, context.tree) if path and not context.tree.exists(path) else "document"
        if by != "document":
            return ReadProblem(
                place, f"COPY takes {source}, which is not in the repository", "contents" if by == "code" else "gone"
            )
    patterns = [joined(context.folder, source) for source in sources]
    if sources and all(p and _PATTERN.fullmatch(p) and not context.tree.matching(p) for p in patterns):
        return ReadProblem(place, f"COPY takes {' '.join(sources)}, which fits nothing in the repository")
    return None


Namer = Literal["document", "code", ""]


def _named_by(path: str, tree: Tree) -> Namer:
    """`_namer`, asked once for each path: that reads the whole repository."""
    if (key := f"named by: {path}") not in tree.parsed:
        tree.parsed[key] = _namer(path, tree)
    return cast("Namer", tree.parsed[key])


def _namer(path: str, tree: Tree) -> Namer:
    """What else in the repository names a file or one of its folders: a `document` or a script, which has it made or brought by the user, or the program's `code` alone."""
    parts = path.split("/")
    if any(fits(part, name) for name in _ignored(tree, path) for part in parts) or tree.has(parts[-1]):
        return "document"
    named = re.compile(rb"(?<![\w-])" + re.escape(parts[-1].encode()) + rb"(?![\w-])")
    files = [place.file for place, _ in tree.mentions(named, (parts[-1].encode().lower(),))]
    files = [file for file in files if not _DOCKERFILE.search(file)]
    return "code" if files and all(map(_CODE.search, files)) else "document" if files else ""


def _ignored(tree: Tree, path: str) -> Iterator[str]:
    """The last parts of what .gitignore and .gitmodules name, at the root and in the folders of a path."""
    folders = ["", *("/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1))]
    for name in (f"{folder}/{file}".lstrip("/") for folder in folders for file in (".gitignore", ".gitmodules")):
        for line in (tree.text_if_there(name) or "").splitlines():
            words = line.partition("=")[2] if name.endswith(".gitmodules") else line
            if last := words.strip().rstrip("/").rpartition("/")[2]:
                yield last.lstrip("!")[:200]
