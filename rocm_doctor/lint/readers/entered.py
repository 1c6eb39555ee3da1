"""Lists that scripts install inside of a running container: the variables of its image hold there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.lint.declared import Environment
from rocm_doctor.lint.readers.files import Tree, folder_of, joined

_COPIED = regex(r"\b(?:docker|podman|nerdctl) cp +[\"']?([^\s\"']{1,200})[\"']? +[\"']?[\w${}.-]+:")
_INSTALLS = regex(r"\b(?:docker|podman|nerdctl) exec\b[^\n]*\b(?:pip\d?|uv)\b[^\n]*\binstall\b")


def with_image(
    tree: Tree, listed: Iterable[tuple[str, str]], made: Sequence[Environment], images: Iterable[Environment]
) -> list[Environment]:
    """The environments; a list that is copied into a container and installed there has the variables of the repository's only image."""
    patterns = [one for kind, path in listed if kind == "shell" for one in _copied(tree, path)]
    own = {one.place.file: one for one in images if one.sort == "image"} if patterns else {}
    if len(own) != 1:
        return [*made]
    inside = tuple(s for one in own.values() for s in one.variables if "gfx" not in s.value)
    return [
        msgspec.structs.replace(one, variables=(*inside, *one.variables))
        if one.sort == "requirements" and any(fits(one.place.file, pattern) for pattern in patterns)
        else one
        for one in made
    ]


def _copied(tree: Tree, path: str) -> list[str]:
    """The files that a script copies into a container in which it installs, as patterns: a variable stands for any name."""
    text = tree.text(path, wanted=False) or ""
    if " cp " not in text or not _INSTALLS.search(text):
        return []
    names = (re.sub(r"\$\{?\w+\}?", "*", re.sub(r"^\$\{?\w+\}?/", "", m[1])) for m in _COPIED.finditer(text))
    return [at for name in names if not name.startswith("*") for folder in {"", folder_of(path)} if (at := joined(folder, name))]
