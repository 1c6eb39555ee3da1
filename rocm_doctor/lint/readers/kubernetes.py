"""Kubernetes manifests: one environment for each container of a pod, with its image, variables and commands.

Which GPUs the nodes have is not in a manifest, so nothing of it is certain. Templates of Helm are no YAML and are not read.

Reference: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Purpose, Setting
from rocm_doctor.lint.environments.purpose import with_purpose
from rocm_doctor.lint.environments.words import Kind
from rocm_doctor.lint.readers import script, shell, yamls
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.shell import Made, places_of
from rocm_doctor.lint.readers.yamls import Node

_MANIFEST = regex(r"^apiVersion:(?s:.*)^[ \t]*(?:- )?containers:", re.M)
_RESOURCES: dict[str, Kind] = {"amd.com/": "amd", "nvidia.com/": "nvidia", "gpu.intel.com/": "intel", "habana.ai/": "intel"}
_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash")
_MAX_DEPTH = 20


def is_manifest(text: str) -> bool:
    """True for a manifest with containers that is no template."""
    return "containers:" in text and "{{" not in text and _MANIFEST.search(text) is not None


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """The containers that are for some hardware or install something."""
    for document in yamls.load(tree, path):
        for node in _containers(document, 0):
            one, used = _environment(tree, path, node)
            if one.steps or used or with_purpose(one, frozenset()).purpose.kind != "neutral":
                yield one, used


def _containers(node: Node, depth: int) -> Iterator[Node]:
    """The containers of every pod below a node, wherever its kind has them."""
    for key, value in node.items() if depth < _MAX_DEPTH else ():
        if key in ("containers", "initContainers"):
            yield from (one for one in value.list() if one.get("image"))
        else:
            yield from _containers(value, depth + 1)
            for item in value.list():
                yield from _containers(item, depth + 2)


def _environment(tree: Tree, path: str, node: Node) -> Made:
    name, image = node.get("name"), node.get("image") or node
    found = shell.new(_variables(tree, path, node))
    argv = [*_words(node, "command"), *_words(node, "args")]
    if argv and argv[0].text() in _SHELLS:
        script.read(argv[-1].text(), yamls.place_of_text(tree, path, argv[-1]), shell.checkout(tree, "", {}), found)
    at = yamls.place(tree, path, image.line)
    one = Environment(
        f"{path} container {name.text() if name else ''}".rstrip(), at, image=Setting("image", image.text(), at),
        steps=tuple(found.steps), variables=tuple(found.variables), sort="service", purpose=_purpose(tree, path, node),
        unresolved=tuple(found.problems),
    )  # fmt: skip
    return msgspec.structs.replace(one, unsure=(at, *places_of(one.steps), *(s.place for s in one.variables))), found.used


def _words(node: Node, key: str) -> list[Node]:
    found = node.get(key)
    return found.list() if found else []


def _variables(tree: Tree, path: str, node: Node) -> Iterator[Setting]:
    for one in _words(node, "env"):
        name, value = one.get("name"), one.get("value")
        if name and value:
            yield Setting(name.text(), value.text(), yamls.place(tree, path, value.line))


def _purpose(tree: Tree, path: str, node: Node) -> Purpose:
    """Whose GPU is among the resources of a container."""
    for key, value in yamls.scalars(node.get("resources") or Node({}, node.line)):
        resource = key.partition(".")[2]
        for prefix, kind in _RESOURCES.items():
            if resource.startswith(prefix) and value.text() != "0":
                return Purpose(kind, f"{resource} among its resources", yamls.place(tree, path, value.line))
    return Purpose()
