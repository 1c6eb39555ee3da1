"""Regular expressions that are compiled at their first use, and globs."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any, cast


class _Lazy:
    """Behaves as the compiled pattern, which is compiled when the first method is asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """What re.compile returns, compiled at the first use: of eight hundred patterns one report uses two hundred.

    An invalid expression raises re.error at its first use.
    """
    return cast("re.Pattern[str]", _Lazy(text, flags))


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
