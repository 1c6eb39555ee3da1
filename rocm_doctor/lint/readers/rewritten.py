"""Files of the repository that commands move, change in their place or write anew."""

from __future__ import annotations

import itertools
import posixpath

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.readers import shell

# vLLM's script, and copies of it, take what names torch out of the lists and the project.
EXISTING = regex(r"us(?:e|ing)_existing_torch\.py$")


def moved(source: str, to: str, context: shell.Context) -> None:
    """A file of the repository by its new name, from here on; one that takes the place of a list changes that."""
    path, there = context.path(source), context.path(to)
    if there and context.tree.is_file(there) and not (path and context.tree.is_file(path)):
        context.names[shell.EDITED + there] = shell.ANEW
    if path and context.tree.is_file(path):
        at = context.at(to)
        context.copied[posixpath.join(at, path.rsplit("/", 1)[-1]) if to.endswith(("/", ".")) else at] = path


IN_PLACE = regex(r"-[a-zA-Z]*i|--in-place")


def edited(argv: list[str], context: shell.Context) -> None:
    """Record the words of a command that changes a list in its place, by the list."""
    for word in argv[1:]:
        path = context.path(word) if word.endswith((".txt", ".in", ".toml", ".lock")) and "$" not in word else None
        if path and context.tree.is_file(path):
            before = context.names.get(shell.EDITED + path)
            context.names[shell.EDITED + path] = "\n".join(filter(None, (before, " ".join(argv))))[: shell.MAX_VALUE]


def written(argv: list[str], context: shell.Context) -> str:
    """The list of the repository that a command writes anew, named by its option for output."""
    for option, value in itertools.pairwise(argv):
        path = context.path(value) if option in ("-o", "--output", "--output-file") and value.endswith((".txt", ".in")) else None
        if path and context.tree.is_file(path):
            return path
    return ""
