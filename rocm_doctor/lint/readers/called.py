"""Whether a script finds its lists from the folder in which a document has it called."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import ReadProblem
from rocm_doctor.lint.readers.files import Tree, folder_of, joined

_LISTED = regex(r"(?:-r|--requirement)[ =]+[\"']?([\w./-]+)")
_MOVES = regex(r"(?m)^[^#\n]*(?:\b(?:cd|pushd)\s|\bdirname\b|BASH_SOURCE|%~dp0)")
_DOCUMENT = regex(r"\.(?:md|rst)$", re.I)


def lost_list(tree: Tree, path: str, text: str) -> ReadProblem | None:
    """The first list that a script asks for by a path from its own folder, where a document runs the script from the root; None if there is none."""
    folder = folder_of(path)
    if not folder or _MOVES.search(text):
        return None
    for m in _LISTED.finditer(text):
        here, there = joined(folder, m[1]), joined("", m[1])
        if here and tree.is_file(here) and not (there and tree.is_file(there)):
            call = re.compile(rb"(?m)(?:^|[\s`])(?:bash |sh |source |\./)" + re.escape(path.encode()) + rb"(?![\w./-])")
            place = tree.mention(call, (path.lower().encode(),), only=_DOCUMENT)
            return ReadProblem(place, f"{m[1]} is not where {path} is called from") if place else None
    return None
