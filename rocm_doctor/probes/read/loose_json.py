"""JSON in a text that need not be JSON: with warnings before it, extra commas, `...` for omissions, or an early end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Union

from rocm_doctor.bounded import jsons
from rocm_doctor.bounded.patterns import regex

if TYPE_CHECKING:
    import json

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]

_START = regex(r"^[ \t#>|]*([\[{])\s*(?=[\]}\"\[{]|\Z)", re.MULTILINE)
_TOKEN = regex(r"\"((?:[^\"\\\n]|\\.){0,4000})\"|([\[\]{}:,])|([^\s\[\]{}:,\"]+)")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 60
_ATTEMPTS = 200
"""Values that are tried as well-formed JSON first."""


def roots(text: str) -> list[Json]:
    """The objects and lists that begin a line, each as far as it can be parsed. Other text is skipped, and so is a word at the
    very end of the text, which may be cut."""
    found: list[Json] = []
    place = 0
    strict, whole = jsons.decoder(), jsons.whole_letters(text)
    attempts = 0
    while start := _START.search(text, place):
        attempts += 1
        value, place = _strict(strict, whole, start.start(1)) if attempts <= _ATTEMPTS else (None, 0)
        if not place:
            value, place = _Reader(text, start.start(1)).root()
        found.append(value)
    return found


def _strict(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Json, int]:
    """The value of well-formed JSON and the offset behind it; offset 0 if it is malformed or may be cut by the end of the text."""
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0
    return value, end


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.tokens = _TOKEN.finditer(text, start)
        self.end = start + 1

    def root(self) -> tuple[Json, int]:
        """The value that starts here and the offset behind it."""
        first = next(self._marks())
        return self._open(first[0], 0), self.end

    def _marks(self) -> Iterator[tuple[str, Json]]:
        """Tokens: a punctuation mark as (mark, None); a string, number or word as ("", value)."""
        for token in self.tokens:
            self.end = token.end()
            if token.group(2):
                yield token.group(2), None
            elif token.group(1) is not None:
                yield "", _unescape(token.group(1))
            elif token.end() < len(self.text):
                yield from _word(token.group(3))

    def _open(self, sign: str, depth: int) -> Json:
        return self._object(depth) if sign == "{" else self._list(depth)

    def _list(self, depth: int) -> Json:
        out: list[Json] = []
        for sign, value in self._marks():
            if sign in ("]", "}"):
                break
            if sign in ("[", "{") and depth < _DEEPEST:
                out.append(self._open(sign, depth + 1))
            elif not sign:
                out.append(value)
        return out

    def _object(self, depth: int) -> Json:
        """Key and value pairs; the first of equal keys is kept."""
        out: dict[str, Json] = {}
        key: str | None = None
        awaited = False
        for sign, value in self._marks():
            if sign in ("]", "}"):
                break
            if sign in ("[", "{") and depth < _DEEPEST:
                inner = self._open(sign, depth + 1)
                if awaited and key is not None:
                    out.setdefault(key, inner)
                key, awaited = None, False
            elif sign == ":":
                awaited = key is not None
            elif sign == ",":
                key, awaited = None, False
            elif not sign and awaited and key is not None:
                out.setdefault(key, value)
                key, awaited = None, False
            elif not sign and isinstance(value, str):
                key = value
        return out


_ESCAPE = regex(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescape(text: str) -> str:
    """The string with its escapes read as JSON's: `\\u2122` is a trade mark, `\\n` a line end."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], found[2]), text)


def _word(text: str) -> Iterator[tuple[str, Json]]:
    """`("", value)` for a number, true, false or null; nothing for `...` and other words. The empty text marks a value, not punctuation."""
    if text in _WORDS:
        yield "", _WORDS[text]
    elif re.fullmatch(r"-?\d{1,18}", text):
        yield "", int(text)
    elif re.fullmatch(r"-?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?", text):
        yield "", float(text)
