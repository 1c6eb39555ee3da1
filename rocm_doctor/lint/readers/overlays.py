"""Compose files that are merged over others: what the file below reserves for a service stays, unless the one above takes it away.

Reference: https://docs.docker.com/reference/compose-file/merge/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.readers import yamls
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.yamls import Node

_TOGETHER = rb"COMPOSE_FILE=[\"']?(?P<joined>[^\s\"'#]+)|(?:(?:-f|--file)[ =][\"']?[^\s\"']+[\"']?(?:[ \t]|\\\r?\n[ \t#]*)*)+"
_FILE = regex(r"(?:-f|--file)[ =][\"']?([^\s\"']+)")
_TAKEN = regex(r":[ \t]*!(?:reset|override)\b")


def kept(tree: Tree, path: str, name: str, service: Node, files: Sequence[str]) -> Place | None:
    """Where a file below this one has a service ask for an NVIDIA GPU, which this one leaves as it is; None if none does."""
    for below in files:
        if below == path or folder_of(below) != folder_of(path):
            continue
        base = services(tree, below).get(name)
        asks = next(_asks(base), None) if base else None
        if asks and not _replaced(tree, path, service, asks[0]) and below in _below(tree, path):
            return yamls.place(tree, below, asks[1].line)
    return None


def needed(tree: Tree, path: str, name: str, files: Sequence[str]) -> Place | None:
    """Where a service that this one depends on asks for an NVIDIA GPU, here or in a file below; None if none does."""
    merged = [path, *(one for one in files if one in _below(tree, path) and folder_of(one) == folder_of(path))]
    seen, left = {name}, [name]
    while left:
        one = left.pop()
        layers = [(file, node) for file in merged if (node := services(tree, file).get(one))]
        for count, (file, node) in enumerate(layers):
            asks = next(_asks(node), None) if one != name else None
            if asks and not any(_replaced(tree, above, over, asks[0]) for above, over in layers[:count]):
                return yamls.place(tree, file, asks[1].line)
            wanted = node.get("depends_on")
            left += [other for other in _named(wanted) if other not in seen]
            seen.update(left)
            if wanted is not None and _TAKEN.search(yamls.place(tree, file, wanted.line).quote):
                break
    return None


def _named(wanted: Node | None) -> list[str]:
    """The services of `depends_on`, written as a list or with their conditions."""
    return [] if wanted is None else [one.text() for one in wanted.list()] or [key for key, _ in wanted.items()]


def services(tree: Tree, path: str) -> dict[str, Node]:
    """The services of a compose file by their names, as they are written there."""
    if (key := f"service nodes of {path}") not in tree.parsed:
        some = [document.get("services") for document in yamls.load(tree, path)]
        tree.parsed[key] = {name: one for among in some if among for name, one in among.items() if isinstance(one.value, dict)}
    found: dict[str, Node] = tree.parsed[key]
    return found


def _asks(service: Node) -> Iterator[tuple[str, Node]]:
    """The keys by which a service asks for an NVIDIA GPU, and where."""
    for key, node in yamls.scalars(service):
        first = key.partition(".")[0]
        if ((key == "runtime" or key.endswith("reservations.devices.driver")) and node.text() == "nvidia") or first == "gpus":
            yield first, node


def _replaced(tree: Tree, path: str, service: Node, key: str) -> bool:
    """True if a service sets a key anew: a single value replaces the one below, a mapping or a list only with a tag of Compose's."""
    own = service.get(key)
    while own is not None:
        if key == "runtime" or _TAKEN.search(yamls.place(tree, path, own.line).quote):
            return True
        inner = ("resources", "reservations", "devices")
        own = next((found for one in inner if (found := own.get(one))), None)
    return False


def _below(tree: Tree, path: str) -> frozenset[str]:
    """The files that every command of the repository with this one names before it; by themselves, Compose merges an override file."""
    folder = folder_of(path)
    name = path.rsplit("/", 1)[-1]
    if name.startswith(("docker-compose.override.", "compose.override.")):
        return frozenset([path.replace(".override.", ".")])
    key = "compose files together"
    if key not in tree.parsed:
        tree.parsed[key] = list(dict.fromkeys(_commands(tree)))
    before = [names[: names.index(name)] for names in tree.parsed[key] if name in names]
    shared = set(before[0]).intersection(*before[1:]) if before else set()
    return frozenset(f"{folder}/{one}".lstrip("/") for one in shared)


def _commands(tree: Tree) -> Iterator[tuple[str, ...]]:
    """The names of the files that one command, or one COMPOSE_FILE, gives to Compose."""
    for _, found in tree.mentions(re.compile(_TOGETHER), (b"compose",)):
        text = found[0].decode("utf-8", "replace")
        joined = found["joined"]
        names = joined.decode("utf-8", "replace").split(":") if joined else _FILE.findall(text)
        yield tuple(one.rsplit("/", 1)[-1] for one in names)
