"""`[tool.rocm-doctor]` in pyproject.toml or `rocm-doctor.yaml`: named targets, accepted findings, folders left out.

fail-on: warning
exclude: ["third_party/*"]
targets:
  mi50: {gpu: gfx906, rocm: "6.3", python: "3.12"}
ignores:
  - {id: lib.bitsandbytes, reason: "only used on the CUDA box", until: 2027-01-31}
"""

from __future__ import annotations

import datetime
from typing import Any

from rocm_doctor.lint.declared import Ignore, Place, Policy, ReadProblem, Target
from rocm_doctor.lint.readers import toml, yamls
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.yamls import Node

_TARGET_FIELDS = ("gpu", "rocm", "driver", "python", "os")
_FIELDS = ("targets", "ignores", "fail-on", "exclude")
_FAIL_ON = ("error", "warning", "note", "never")


def read(tree: Tree) -> Policy:
    """The policy of a repository; a wrong entry is a trouble at its line and is left out."""
    for name in ("rocm-doctor.yaml", "rocm-doctor.yml"):
        if tree.text(name, wanted=False) is not None:
            documents = yamls.load(tree, name)
            return _policy(documents[0], name) if documents else Policy()
    if tree.text("pyproject.toml", wanted=False) and (loaded := toml.load(tree, "pyproject.toml")):
        data = toml.table(loaded[0], "tool", "rocm-doctor")
        return _policy(_as_node(data, loaded[1]), "pyproject.toml") if data else Policy()
    return Policy()


def _as_node(value: Any, lines: toml.Lines, line: int = 1) -> Node:
    """TOML values in the form of YAML nodes, each at the line of its key."""
    if isinstance(value, dict):
        return Node({k: _as_node(v, lines, lines.place(str(k)).line) for k, v in value.items()}, line)
    if isinstance(value, list):
        return Node([_as_node(v, lines, line) for v in value], line)
    return Node(str(value), line)


def _policy(root: Node, file: str) -> Policy:
    problems = [
        ReadProblem(Place(file, n.line), f"unknown key `{k}`: known are {', '.join(_FIELDS)}", "hint")
        for k, n in root.items()
        if k not in _FIELDS
    ]
    targets_node, ignores_node, exclude = root.get("targets"), root.get("ignores"), root.get("exclude")
    fail_on = root.get("fail-on")
    if fail_on and fail_on.text() not in _FAIL_ON:
        problems.append(ReadProblem(Place(file, fail_on.line), f"`fail-on: {fail_on.text()}`: one of {', '.join(_FAIL_ON)}"))
    targets = tuple(_target(name, node, file, problems) for name, node in (targets_node.items() if targets_node else []))
    ignores = tuple(i for node in (ignores_node.list() if ignores_node else []) if (i := _ignore(node, file, problems)))
    return Policy(
        targets,
        ignores,
        fail_on.text() if fail_on and fail_on.text() in _FAIL_ON else "",
        tuple(n.text() for n in exclude.list()) if exclude else (),
        tuple(problems),
    )


def _target(name: str, node: Node, file: str, problems: list[ReadProblem]) -> Target:
    for key, value in node.items():
        if key not in _TARGET_FIELDS:
            problems.append(
                ReadProblem(
                    Place(file, value.line),
                    f"unknown key `{key}` of target {name}: known are {', '.join(_TARGET_FIELDS)}",
                    "hint",
                )
            )
    values = {key: found.text() for key in _TARGET_FIELDS if (found := node.get(key))}
    return Target(name, place=Place(file, node.line, name), **values)


def _ignore(node: Node, file: str, problems: list[ReadProblem]) -> Ignore | None:
    """An accepted finding; without id, reason or day it is not accepted."""
    found = {key: child.text() for key in ("id", "reason", "until", "file") if (child := node.get(key))}
    place = Place(file, node.line, found.get("id", ""))
    if not found.get("id") or not found.get("reason"):
        problems.append(ReadProblem(place, "an ignore needs `id` and `reason`"))
        return None
    until = day(found.get("until", ""))
    if until is None:
        problems.append(
            ReadProblem(
                place, f"the ignore of {found['id']} needs `until: YYYY-MM-DD`, the day from which on it is looked at again"
            )
        )
        return None
    return Ignore(found["id"], found["reason"], until, place, found.get("file", ""))


def day(text: str) -> datetime.date | None:
    """A date in ISO form; None for anything else."""
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        return None
