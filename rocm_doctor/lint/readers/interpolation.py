"""`environment:` of a compose service, with the values that defaults and the `.env` file beside it give.

Reference: https://docs.docker.com/reference/compose-file/interpolation/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.readers import expansion, yamls
from rocm_doctor.lint.readers.files import Tree, folder_of, joined, quoted
from rocm_doctor.lint.readers.yamls import Node

_LINE = regex(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[^#\n]*)", re.M)

_EMPTY = regex(r"\$\{\w+:?-\}")


def environment(tree: Tree, path: str, node: Node | None) -> Iterator[Setting]:
    """`environment:` as a mapping or as a list of NAME=value, as it is written; not what is a name alone."""
    for name, value in node.items() if node else []:
        if not value.null:
            yield Setting(name, value.text(), yamls.place(tree, path, value.line))
    for item in node.list() if node else []:
        name, equals, text = item.text().partition("=")
        if equals:
            yield Setting(name.strip(), text.strip(), yamls.place(tree, path, item.line))


def interpolated(tree: Tree, path: str, node: Node | None) -> Iterator[Setting]:
    """`environment:` with its references replaced; such a value is a default, because the caller's own environment comes first."""
    known = _beside(tree, path)
    for one in environment(tree, path, node):
        value = expansion.filled(one.value, known) if "$$" not in one.value else one.value
        # A reference that becomes empty is left open: whoever starts the service fills it in. An empty default is a value.
        settled = value or _EMPTY.fullmatch(one.value)
        yield msgspec.structs.replace(one, value=value, default=True) if settled and value != one.value else one
    alone = (
        [(item.text(), item) for item in node.list()] + [(name, one) for name, one in node.items() if one.null] if node else []
    )
    for name, item in alone:
        if name in known:  # a name alone is handed through
            yield Setting(name, known[name], yamls.place(tree, path, item.line), default=True)


def _beside(tree: Tree, path: str) -> dict[str, str]:
    """What the `.env` file in the folder of a compose file sets."""
    file = f"{folder_of(path)}/.env".lstrip("/")
    return {m[1]: m[2].strip().strip("\"'") for m in _LINE.finditer(tree.text_if_there(file) or "")}


def from_files(tree: Tree, path: str, node: Node | None) -> Iterator[Setting]:
    """`env_file:` of a service: the variables of the files that the repository has, a later file before an earlier one."""
    found: dict[str, Setting] = {}
    for one in (node.list() or [node]) if node else []:
        named = one.get("path") if isinstance(one.value, dict) else one
        file = joined(folder_of(path), named.text()) if named and "$" not in named.text() else None
        text = (tree.text_if_there(file) if file else None) or ""
        for m in _LINE.finditer(text):
            place = Place(file or "", text.count("\n", 0, m.start(1)) + 1, quoted(m[0].strip()))
            found[m[1]] = Setting(m[1], m[2].strip().strip("\"'"), place)
    yield from found.values()
