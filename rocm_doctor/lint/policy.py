"""What a repository says to rocm-doctor, in rocm-doctor.yaml or `[tool.rocm-doctor]` of pyproject.toml.

targets:
  mi50: {gpu: gfx906, rocm: "6.3", python: "3.12"}
environments: [requirements-rocm.txt, "pyproject.toml [rocm]", docker/Dockerfile.amd]
ignores:
  - {id: lib.bitsandbytes, reason: "only used on the CUDA box", until: 2027-01-31}
fail-on: warning
exclude: ["third_party/*"]
"""

from __future__ import annotations

import datetime
from typing import Any

from rocm_doctor.bounded import Unreadable, tomls
from rocm_doctor.lint.model import Fault, Ignore, LintPolicy, LintTarget, Place
from rocm_doctor.lint.readers.compose import YamlNode, load
from rocm_doctor.lint.tree import Tree

FILES = ("rocm-doctor.yaml", "rocm-doctor.yml", "pyproject.toml")
_KEYS = ("targets", "environments", "ignores", "fail-on", "exclude")
_FIELDS = ("gpu", "rocm", "driver", "python", "os")
_FAIL_ON = ("error", "warning", "note", "never")


def read(tree: Tree) -> LintPolicy:
    """The policy of the first of FILES that has one; an empty one if none has. An entry that is wrong is left out and recorded
    as a fault at its line. A YAML file that cannot be read is an empty policy with a fault. A .toml file that cannot be read is
    an empty one without."""
    for file in FILES:
        text = tree.text(file) if (tree.root / file).is_file() else None
        if text is None:
            continue
        try:
            root = _toml_policy(text) if file.endswith(".toml") else load(text)
        except Unreadable as exc:
            if file.endswith(".toml"):
                return LintPolicy()
            cause = "Its targets and ignores do not count."
            return LintPolicy(faults=(Fault(Place(file, max(1, exc.line)), "policy", f"not read: {exc}", cause),))
        if root is not None and (root.items() or not file.endswith(".toml")):
            return _policy(root, file)
    return LintPolicy()


def _toml_policy(text: str) -> YamlNode | None:
    """`[tool.rocm-doctor]` in the form of YAML nodes, each at the first line behind the table's head that holds its key."""
    table = tomls.values(text).get("tool", {}).get("rocm-doctor")
    lines = text.split("\n")
    head = next((n for n, line in enumerate(lines, 1) if "tool.rocm-doctor" in line), 1)

    def node(value: Any, line: int) -> YamlNode:
        if isinstance(value, dict):
            at = {key: next((n for n, one in enumerate(lines[head - 1 :], head) if str(key) in one), line) for key in value}
            return YamlNode({str(key): node(child, at[key]) for key, child in value.items()}, line)
        return YamlNode([node(child, line) for child in value] if isinstance(value, list) else str(value), line)

    return node(table, head) if isinstance(table, dict) else None


def _policy(root: YamlNode, file: str) -> LintPolicy:
    faults = [
        _fault(file, node, f"unknown key `{key}`: known are {', '.join(_KEYS)}") for key, node in root.items() if key not in _KEYS
    ]
    targets_node = root.get("targets")
    if targets_node and targets_node.list():
        faults.append(_fault(file, targets_node, "`targets` is a list: give each target a name, as in `mi50: {gpu: gfx906}`"))
    targets = tuple(_target(name, node, file, faults) for name, node in root.items("targets"))
    fail_on = root.get("fail-on")
    if fail_on and fail_on.text not in _FAIL_ON:
        faults.append(_fault(file, fail_on, f"`fail-on: {fail_on.text}`: one of {', '.join(_FAIL_ON)}"))
    return LintPolicy(
        targets,
        tuple(node.text for node in root.list("environments")),
        tuple(entry for node in root.list("ignores") if (entry := _ignore(node, file, faults))),
        fail_on.text if fail_on and fail_on.text in _FAIL_ON else "",
        tuple(node.text for node in root.list("exclude")),
        tuple(faults),
    )


def _fault(file: str, node: YamlNode, title: str) -> Fault:
    return Fault(Place(file, node.line), "policy", title, "This part of the file does not count.")


def _target(name: str, node: YamlNode, file: str, faults: list[Fault]) -> LintTarget:
    for key, child in node.items():
        if key not in _FIELDS:
            faults.append(_fault(file, child, f"unknown key `{key}` of target {name}: known are {', '.join(_FIELDS)}"))
    return LintTarget(name, place=Place(file, node.line, name), **{k: value.text for k in _FIELDS if (value := node.get(k))})


def _ignore(node: YamlNode, file: str, faults: list[Fault]) -> Ignore | None:
    given = {key: child.text for key in ("id", "reason", "until", "file") if (child := node.get(key))}
    try:
        until = datetime.date.fromisoformat(given.get("until", "").strip())
    except ValueError:
        faults.append(_fault(file, node, "an ignore needs `until: YYYY-MM-DD`, the day from which on it is looked at again"))
        return None
    if not given.get("id") or not given.get("reason"):
        faults.append(_fault(file, node, "an ignore needs `id` and `reason`"))
        return None
    return Ignore(given["id"], given["reason"], until, Place(file, node.line, given["id"]), given.get("file", ""))
