"""Shell scripts: what they install and set, outside of branches, loops and functions."""

from __future__ import annotations

import posixpath

from rocm_doctor.lint.model import Environment, Place
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.commands import CommandReader
from rocm_doctor.lint.tree import Tree


def read(tree: Tree, path: str) -> list[Environment]:
    """The environment of a script that has to do with the GPU stack."""
    text = tree.text(path) or ""
    if not shell.RELEVANT.search(text):
        return []
    reading = CommandReader(tree, [posixpath.dirname(path), ""])
    reading.take(shell.parse(text, path))
    if not (reading.steps or reading.variables or reading.unread):
        return []
    return [reading.environment("script", Place(path, 1), text=text)]
