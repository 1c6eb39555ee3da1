"""A word with the line that it is in, as tests of what is around it read it."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex

_REACH = 240
"""Characters on both sides of a word that are looked at, up to the ends of its line."""


class Around(NamedTuple):
    """A word with the line before and behind it, and `begin`: what is written before it without a space or a quote."""

    before: str
    word: str
    after: str
    begin: str

    @property
    def chunk(self) -> str:
        """All that is written without a space or a quote around the word."""
        return self.begin + self.word + _FIRST.match(self.after)[0]  # type: ignore[index]

    @property
    def line(self) -> str:
        """The whole of it."""
        return self.before + self.word + self.after

    @property
    def name(self) -> str:
        """The word with what letters, digits, underscores and hyphens join to it."""
        return tail(self.before, _TO_NAME) + self.word + _NAME.match(self.after)[0]  # type: ignore[index]

    @property
    def behind(self) -> str:
        """What follows on that."""
        return self.after[_NAME.match(self.after).end() :]  # type: ignore[union-attr]


_TO_BREAK = regex(r"(?s:.*[\s\"'`<>|;,])?")
_TO_NAME, _NAME = regex(r"(?s:.*[^\w-])?"), regex(r"[\w-]*")
_REPLACED = regex(r"<[a-z]{2,9}[- ]\d{1,6}>\Z")
_FIRST = regex(r"(?:[^\s\"'`<>|;,]|<[a-z]{2,9}[- ]\d{1,6}>)*")
"""What is written without a space, with what was replaced in it."""


def tail(text: str, up_to: re.Pattern[str]) -> str:
    """The end of `text` behind the last place that `up_to` reaches. It takes what it can and goes back: a search would try each letter."""
    return text[up_to.match(text).end() :]  # type: ignore[union-attr]


def _begin(before: str) -> str:
    """The end of `before` that holds no space and no quote. What was replaced is a part of it, though it has brackets."""
    end = len(before)
    while True:
        cut = _TO_BREAK.match(before, 0, end).end()  # type: ignore[union-attr]
        replaced = _REPLACED.search(before, max(0, cut - 18), cut) if before[cut - 1 : cut] == ">" else None
        if replaced is None:
            return before[cut:]
        end = replaced.start()


def around(text: str, start: int, end: int) -> Around:
    """What is between `start` and `end`, with its line as far as that is looked at."""
    before = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    return Around(before, text[start:end], text[end : end + _REACH].partition("\n")[0], _begin(before))
