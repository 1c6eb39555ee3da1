"""The options of pip and uv: one table for install commands, requirements files and the settings of uv in pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

Role = Literal["default", "extra", "find-links"]
ROLES: dict[str, Role] = {
    "--index-url": "default", "--default-index": "default", "--extra-index-url": "extra", "--index": "extra", "--find-links": "find-links",
}  # fmt: skip
"""What an index is that an option names."""
_SHORT = {
    "-i": "--index-url", "--pypi-url": "--index-url", "-f": "--find-links", "-r": "--requirement", "-c": "--constraint", "-e": "--editable",
    "-t": "--target", "-d": "--dest", "-p": "--python", "-C": "--config-settings", "-U": "--upgrade", "-I": "--ignore-installed",
}  # fmt: skip
_VALUED = frozenset((
    *ROLES, "--requirement", "--constraint", "--editable", "--extra", "--torch-backend", "--target", "--prefix", "--root", "--python",
    "--platform", "--python-version", "--implementation", "--abi", "--only-binary", "--no-binary", "--cache-dir", "--timeout", "--retries",
    "--trusted-host", "--progress-bar", "--log", "--src", "--dest", "--upgrade-strategy", "--config-settings", "--global-option", "--proxy",
    "--cert", "--index-strategy", "--link-mode", "--exclude-newer", "--resolution", "--prerelease", "--group", "--report",
    "--root-user-action", "--no-build-isolation-package", "--reinstall-package", "--upgrade-package",
))  # fmt: skip
"""Options that take a value."""


def parse_options(words: Sequence[str | None]) -> Iterator[tuple[str, str | None]]:
    """Each option by its long name with its value, `("--index-url", URL)` or `("--no-deps", "")`, and each other word as `("", WORD)`.
    A word or a value that is not literal is None."""
    waiting = ""
    for word in words:
        if waiting or word is None or not word.startswith("-") or word in ("-", "--"):
            yield waiting, word
            waiting = ""
            continue
        option, equals, value = word.partition("=")
        if _SHORT.get(word[:2]) in _VALUED and len(word) > 2 and not equals:  # -rrequirements.txt
            option, equals, value = word[:2], "=", word[2:]
        name = _SHORT.get(option, option)
        if name in _VALUED and not equals:
            waiting = name
        else:
            yield name, value
