"""The libraries of training that the programs of a repository import."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Setting
from rocm_doctor.lint.environments.purpose import ASIDE
from rocm_doctor.lint.readers.files import Tree, folder_of

_NAMES = (b"transformers", b"datasets", b"accelerate", b"peft", b"trl", b"diffusers", b"deepspeed")
_IMPORT = re.compile(rb"(?m)^(?:import|from)[ \t]+(" + b"|".join(_NAMES) + rb")\b")
_PROGRAM = regex(r"\.py$")


_MODULE = re.compile(rb"(?m)^[ \t]*\"?(?:import|from)[ \t]+([A-Za-z_]\w*)")
_PROGRAMS = regex(r"\.(?:py|ipynb)$")


def modules(tree: Tree) -> frozenset[str]:
    """The first part of the name of each module that the programs and notebooks of a repository import."""
    return tree.words(_MODULE, _PROGRAMS)


def imports(tree: Tree) -> tuple[Setting, ...]:
    """Each of these libraries, with the first place that imports it outside of any condition, of tests and of examples, if no module of the
    repository is called so.
    """
    first: dict[str, Setting] = {}
    for one in _found(tree):
        first.setdefault(one.name, one)
    return tuple(first.values())


def _found(tree: Tree) -> Iterator[Setting]:
    for place, m in tree.mentions(_IMPORT, _NAMES, only=_PROGRAM):
        name = m[1].decode()
        own = (f"{there}/{name}".lstrip("/") for there in (folder_of(place.file), "", "src"))
        aside = {folder.lower() for folder in place.file.split("/")[:-1]} & ASIDE
        if not aside and not any(tree.exists(path) or tree.exists(f"{path}.py") for path in own):
            yield Setting(name, "", place)
