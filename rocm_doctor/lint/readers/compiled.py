"""Whether commands compile something: a list of GPUs for builds has an effect only there."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex

# What a package manager of the system installs, addresses, and where an installer looks, only name a compiler or a folder.
_NAMED_ONLY = regex(
    r"\b(?:apt|apt-get|dnf|yum|zypper|apk|pacman)\b[^;&|\n]*|https?://\S+"
    r"|\s(?:--(?:python|target|prefix|root|find-links|requirement|constraint|cache-dir)|-[prcft])[ =]+\S+"
)
_COMPILES = regex(
    r"\b(?:cmake|make|ninja|hipcc|meson|bazel|cargo)\b|clang|setup\.py|--no-binary|--no-build-isolation|bdist_wheel|-m build\b|git\+|--offload-arch"
    r"|\.tar\.gz|\w\.sh\b|\bbuild\w*\b|\b(?:pip\d?|uv) (?:pip )?(?:install|wheel|sync)\b[^;&|\n]*[ \t](?:-e|--editable|[./][^;&|\s]*)(?=[\s;&|]|$)",
    re.I,
)


def compiles(commands: str) -> bool:
    """True if one of the commands compiles something, or runs a script that may."""
    return _COMPILES.search(_NAMED_ONLY.sub(" ", commands.replace("\\\n", " "))) is not None
