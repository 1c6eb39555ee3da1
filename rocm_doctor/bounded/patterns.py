"""Regular expressions that are compiled when a text may match them, and globs.

Of eight hundred patterns one report searches two hundred and matches thirty; compiling the others took a quarter of the time of
`rocm-doctor check report.md`. needed.json (scripts/needed_words.py) has words of which any match holds one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from rocm_doctor.bounded.texts import lower

_WITHOUT_MATCH: dict[str, Callable[..., Any]] = {
    "search": lambda text, *_: None,
    "match": lambda text, *_: None,
    "fullmatch": lambda text, *_: None,
    "finditer": lambda text, *_: iter(()),
    "findall": lambda text, *_: [],
    "split": lambda text, *_: [text],
    "sub": lambda _, text, *__: text,
}
"""What the methods return for a text without a match."""


class Late:
    """Behaves as the compiled pattern. Until a text may match, nothing is compiled; then each method is held by the instance."""

    def __init__(self, text: str, flags: int) -> None:
        self.key = (text, int(flags))
        self.pattern = text

    def __getattr__(self, name: str) -> Any:
        words = _needed().get(keyed(*self.key)) if name in _WITHOUT_MATCH else None
        if words:
            return self._unless(words, name)
        value = getattr(re.compile(*self.key), name)
        setattr(self, name, value)
        return value

    def _unless(self, words: list[str], name: str) -> Callable[..., Any]:
        """The method for as long as no text holds one of the words."""
        without: object = None

        def method(*args: Any, **named: Any) -> Any:
            nonlocal without
            if args[0] is without:
                return _WITHOUT_MATCH[name](*args)
            low = _lowered(args[name == "sub"])
            for word in words:
                if word in low:
                    held = getattr(re.compile(*self.key), name)
                    setattr(self, name, held)
                    return held(*args, **named)
            if len(args) > 1 and name != "sub":  # asked at a position, as at each word: looked through once for all positions
                without = args[0]
            return _WITHOUT_MATCH[name](*args)

        setattr(self, name, method)
        return method


def keyed(text: str, flags: int) -> str:
    """The key of a pattern in needed.json."""
    return f"{flags}:{text}"


@cache
def _needed() -> dict[str, list[str]]:
    return msgspec.json.decode(Path(__file__).with_name("needed.json").read_bytes(), type=dict[str, list[str]])


_last = ("", "")


BEYOND_ASCII = "\x80"
"""The word that every text with a letter beyond ASCII holds."""


def _lowered(text: str) -> str:
    """The text in lower case, with the letters that IGNORECASE takes for `i` and `s`. Many patterns ask about one text."""
    global _last
    if text is not _last[0]:
        beyond = "" if text.isascii() else lower(text).replace("\u0131", "i").replace("\u017f", "s") + BEYOND_ASCII
        _last = text, beyond or text.lower()
    return _last[1]


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """What re.compile returns, compiled when a text may match it. An invalid expression raises re.error there."""
    return cast("re.Pattern[str]", Late(text, flags))


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
