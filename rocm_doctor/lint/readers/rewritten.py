"""Files of the repository that commands move, change in their place, write anew or remove: what is installed from them after that is
what the command left there.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.readers import filtered, shell

# vLLM's script, and copies of it, take what names torch out of the lists and the project.
_EXISTING = regex(r"us(?:e|ing)_existing_torch\.py$")
# What changes files that it does not name.
_PATCHES = regex(r"(?:patch|git (?:-C \S+ )?(?:apply|am|cherry-pick))\b")
_LOCKS = regex(r"(uv|poetry|pdm) (?:lock|update)\b(?!.*--check)")
_IN_PLACE = regex(r"-[a-zA-Z]*i|--in-place")
_LISTS = (".txt", ".in", ".toml", ".lock")
REMOVED = "rm"


def is_change(argv: list[str], context: shell.Context) -> bool:
    """True for a command that changes a file of the repository; that is recorded."""
    said = " ".join(argv)
    if any(_EXISTING.search(word) for word in argv[1:]):
        context.names[shell.EDITED] = "torch torchvision torchaudio triton xformers"
    elif argv[0] in ("mv", "cp", "ln") and len(argv) > 2:
        _moved(argv[-2], argv[-1], context)
    elif argv[0] == "rm":
        for path in _named(argv, context):
            context.names[shell.EDITED + path] = REMOVED
    elif argv[0] == "tee" or (argv[0] in ("sed", "perl") and any(map(_IN_PLACE.match, argv))):
        for path in _named(argv, context):
            before = context.names.get(shell.EDITED + path)
            context.names[shell.EDITED + path] = "\n".join(filter(None, (before, said)))[: shell.MAX_VALUE]
    elif _PATCHES.match(said) and context.tree.exists(context.path(".") or "?"):
        context.names[shell.EDITED] = said
    elif (locks := _LOCKS.match(said)) and (lock := context.path(f"{locks[1]}.lock")):
        context.names[shell.EDITED + lock] = shell.ANEW
    elif written := _written(argv, context):
        context.names[shell.EDITED + written] = shell.ANEW
    else:
        return False
    return True


def changed(paths: Iterable[str], context: shell.Context) -> str:
    """The first of these files that a command changed before; empty where all of them are as in the repository."""
    return next((one for one in paths if one and {shell.EDITED, shell.EDITED + one} & context.names.keys()), "")


def in_a_new_shell(context: shell.Context) -> shell.Context:
    """Where the next command of a recipe is run: make gives each a shell of its own, and the files are as the last one left them."""
    kept = {name: value for name, value in context.names.items() if name.startswith((shell.EDITED, filtered.MADE))}
    return context._replace(names={**kept, "WORKDIR": context.start})


def _named(argv: list[str], context: shell.Context) -> Iterator[str]:
    """The lists, projects and locks of the repository among the words of a command."""
    for word in argv[1:]:
        path = context.path(word) if word.endswith(_LISTS) and "$" not in word else None
        if path and context.tree.is_file(path):
            yield path


def _moved(source: str, to: str, context: shell.Context) -> None:
    """A file of the repository by its new name, from here on; one that takes the place of a list changes that."""
    path, there = context.path(source), context.path(to)
    if there and context.tree.is_file(there) and not (path and context.tree.is_file(path)):
        context.names[shell.EDITED + there] = shell.ANEW
    if path and context.tree.is_file(path):
        at = context.at(to)
        context.copied[posixpath.join(at, path.rsplit("/", 1)[-1]) if to.endswith(("/", ".")) else at] = path


def _written(argv: list[str], context: shell.Context) -> str:
    """The list of the repository that a command writes anew, named by its option for output."""
    for option, value in itertools.pairwise(argv):
        path = context.path(value) if option in ("-o", "--output", "--output-file") and value.endswith(_LISTS[:2]) else None
        if path and context.tree.is_file(path):
            return path
    return ""
