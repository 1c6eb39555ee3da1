"""The device nodes that ROCm opens: who owns them, and whether this user can open them."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.files import group_names, list_names


def device_nodes(root: Path) -> list[str]:
    """The nodes that ROCm opens: /dev/kfd and the render nodes, those that exist, as artifact names."""
    nodes = [f"dev/dri/{name}" for name in list_names(root, "dev/dri") if name.startswith("renderD")]
    return [name for name in ("dev/kfd", *nodes) if (root / name).exists()]


def open_command(root: Path, nodes: Sequence[str]) -> list[str]:
    """A command that opens each node for reading and writing and prints the result, one line each. A child does it: a driver that
    hangs may hold the opening process in the kernel for ever, and that must not be us."""
    script = 'for node do true <>"$node" && echo "$node: ok"; done'
    return ["/bin/sh", "-c", script, "sh", *(str(root / node) for node in nodes)]


def describe_nodes(root: Path, nodes: Sequence[str], opened: str | None) -> list[Artifact]:
    """Each node's owner, mode, and the words of its opening (`opened`: what the command printed; None when it was not run)."""
    found = [Artifact(node, "live", _node(root, node, opened)) for node in nodes]
    if "dev/kfd" not in nodes:
        found.append(Artifact("dev/kfd", "live", missing="absent-source", note="No such file or directory"))
    if not any(node.startswith("dev/dri/") for node in nodes):
        found.append(Artifact("dev/dri", "live", missing="absent-source", note="no render node"))
    return found


def _node(root: Path, node: str, opened: str | None) -> str:
    path = root / node
    text = "exists: yes\n"
    try:
        info = path.stat()
        text += f"mode: {stat.S_IMODE(info.st_mode):04o}\nuid: {info.st_uid}\ngid: {info.st_gid}\n"
        text += f"group: {group_names(root).get(info.st_gid, info.st_gid)}\n"
    except OSError as error:
        text += f"stat: {error.strerror}\n"
    return text + f"open: {_open_result(str(path), opened)}\n"


def _open_result(path: str, opened: str | None) -> str:
    """`ok`, or the kernel's words of refusal; `unknown` when the child was ended before it came to this node."""
    if opened is None:
        return "ok" if os.access(path, os.R_OK | os.W_OK) else "Permission denied"
    line = next((line for line in opened.splitlines() if path in line), "")
    return "ok" if line.endswith(": ok") else line.rpartition(": ")[2] or "unknown"
