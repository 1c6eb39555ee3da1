"""Regular expressions that are compiled when they are first used, and globs: one report uses about a hundred of eight hundred.

Compiling all of them took a quarter of the time of `rocm-doctor check report.md`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any, cast


class _Late:
    """Behaves as the compiled pattern. Each method is looked up once, then held by the instance."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """What re.compile returns, compiled at its first use. An invalid expression raises re.error there."""
    return cast("re.Pattern[str]", _Late(text, flags))


def fits(name: str, glob: str) -> bool:
    """What fnmatch.fnmatchcase returns; a glob of names and `*` needs no compiled pattern.

    >>> fits("sys/class/kfd", "sys/*"), fits("py/torch.json", "*/torch*"), fits("aa", "a*a*a")
    (True, True, False)
    """
    if "?" in glob or "[" in glob:
        return fnmatchcase(name, glob)
    head, *others = glob.split("*")
    if not others:
        return name == glob
    *middle, tail = others
    at, end = len(head), len(name) - len(tail)
    if at > end or not (name.startswith(head) and name.endswith(tail)):
        return False
    for part in middle:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
