"""Installers that are run and cannot be read: in Python, or as they come from the network."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import UNREAD_INSTALLER, Place, ReadProblem
from rocm_doctor.lint.readers import shell

_FETCHED = "FETCHED"
_ADDRESS = regex(r"https?://[^\s\"')]+")
# Installers of tools that leave Python packages alone.
_TOOLS = regex(
    r"astral\.sh|rustup|nodesource|get\.docker|install\.python-poetry|pdm|ollama|bun\.sh|deno|nvm|fnm|volta|pixi|micro\.mamba|conda|mambaforge|get-pip"
    r"|starship|oh-my|tailscale|just\.systems|code-server|hf\.co/cli|huggingface|git-lfs|packagecloud|kitware|llvm|golang|helm|kubectl|pnpm|uv[/-]install|cloudflare|syft|trivy"
)
_INSTALLER = regex(r"(?:.*/)?(?:[\w-]*install(?:er)?|bootstrap|prepare_env\w*|setup_env\w*|one_click)\.py$")
_USES_PIP = regex(r"\bpip\b|\buv\b|requirements")


def _fetched(argv: Sequence[str], context: shell.Context) -> str:
    """The address of an installer that a shell runs as it comes from the network; empty for anything else, and for known tools."""
    name, words = argv[0].rsplit("/", 1)[-1], " ".join(argv[1:])
    if name in ("curl", "wget"):
        context.names[_FETCHED] = (_ADDRESS.search(words) or [""])[0]
    elif name in ("bash", "sh", "zsh"):
        before = context.names.pop(_FETCHED, "") if not words or re.match(r"-(?:s|$|[a-z]*s?\s*--?(?:\s|$))", words) else ""
        inside = _ADDRESS.search(words) if re.search(r"\b(?:curl|wget)\b", words) else None
        address = inside[0] if inside else before
        return "" if _TOOLS.search(address) else address
    else:
        context.names.pop(_FETCHED, None)
    return ""


def installer(argv: Sequence[str], place: Place, context: shell.Context) -> ReadProblem | None:
    """An installer that a command runs and whose code is not followed: one from the network, or a program in Python that uses pip."""
    if address := _fetched(argv, context):
        return ReadProblem(place, f"{address} {UNREAD_INSTALLER}")
    name = next((word for word in argv[1:] if word.endswith(".py")), "") if argv[0].startswith("python") else ""
    if not _INSTALLER.match(name):
        return None
    text = context.tree.text_if_there(context.path(name))
    return ReadProblem(place, f"{name} {UNREAD_INSTALLER}") if text is None or _USES_PIP.search(text) else None
