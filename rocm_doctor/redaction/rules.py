"""How a place in a text is found that holds a name or a secret: literal hints first, in one pass, then a pattern at each.

Time is linear in the text: hints are looked up (hints.py), each pattern sees a bounded piece of text from its hint, and what
it took is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.hints import Hints

PSEUDONYM = regex(
    r"<(?:user|host|home|email|token|uuid|serial|ip|mac|container|account|group|bucket|network|phone|place|name)[- ]\d+>"
)
"""The form of a pseudonym."""
NAMES = frozenset({"user", "host", "account", "group", "bucket", "network", "name"})
"""Kinds that are names: two spellings of one are one, and what identifies no one stays."""
Spans = Iterator[tuple[int, int]]
_LINE = 400
"""Characters before a hint in which its line must begin, and as many again behind it: prefixes and prompts are shorter."""


class RedactedPlace(NamedTuple):
    """A place to redact. `certain`: the structure alone says that this is a name. `remember`: the name may stand elsewhere too."""

    start: int
    end: int
    kind: str
    certain: bool = True
    remember: bool = True


class Pattern(NamedTuple):
    """A regular expression, not compiled: most texts try a few of several hundred."""

    source: str
    flags: int = 0


class RedactionRule(NamedTuple):
    """A pattern whose named groups are kinds (`user`, `user2`, `hosts` for a list), tried at each lower-case hint.

    Groups named `of_...` are for `accept` alone. `at`: "hint" matches from the hint on, "line" searches the hint's line.
    """

    hints: tuple[str, ...]
    pattern: Pattern
    at: str = "hint"
    certain: bool = True
    remember: bool = True
    accept: Callable[[re.Match[str]], bool] | None = None
    whole: bool = False
    """What `accept` refuses holds nothing else that the rule looks for."""


_PLURALS = {"users": "user", "hosts": "host", "groups": "group", "accounts": "account"}
_ITEM = regex(r"[A-Za-z_][\w.+-]*")
_BRACKETS = regex(r"([A-Za-z][\w.-]*)\[[\d,-]+\][\w.-]*|[A-Za-z][\w.-]*")
_UNBROKEN = regex(r"[^\s\"'`<>,;$&|()\[\]{}]*")
_LONG = 150
"""Letters of a token from which it goes on to the end of its word: patterns are bounded, tokens are not."""


class RuleSet:
    """Rules, ready to search: `find` yields what they find in a text."""

    def __init__(self, rules: Iterable[RedactionRule]) -> None:
        self._rules = tuple(rules)
        # In a rule that searches a line, `^` and `$` are the ends of that line.
        self._patterns = tuple(regex(r.pattern.source, r.pattern.flags | (re.M if r.at == "line" else 0)) for r in self._rules)
        places: dict[str, list[int]] = {}
        for number, rule in enumerate(self._rules):
            for hint in rule.hints:
                places.setdefault(hint, []).append(number)
        self._rules_at = places
        self._numbers: dict[str, tuple[int, ...]] = {}
        self._hints = Hints(places)

    def _rule_numbers(self, hint: str) -> tuple[int, ...]:
        """The rules to try where this is the longest hint: those of the hints that it begins with, too."""
        if hint not in self._numbers:
            starts = (hint[:size] for size in range(1, len(hint) + 1))
            self._numbers[hint] = tuple(sorted(number for start in starts for number in self._rules_at.get(start, ())))
        return self._numbers[hint]

    def find(self, text: str, low: str) -> Iterator[RedactedPlace]:
        """What the rules find in `text`; `low` is the same text in lower case."""
        done: dict[int, int] = {}
        token = 0
        for at, hint in self._hints.places(low):
            if at < token:  # inside of a token nothing else is looked for
                continue
            for number in self._rule_numbers(hint):
                if number in done and at < done[number]:
                    continue
                rule = self._rules[number]
                if rule.at == "line":
                    match, beyond = _search_line(self._patterns[number], text, at)
                else:
                    match, beyond = self._patterns[number].match(text, at), at
                    if match is None:
                        continue
                done[number] = max(beyond, at + 1)
                while match:
                    accepted = rule.accept is None or rule.accept(match)
                    if accepted or rule.whole:
                        done[number] = max(done[number], match.end())
                    for found in _find_groups(rule, match) if accepted else ():
                        done[number] = max(done[number], found.end)
                        token = max(token, found.end) if found.kind == "token" else token
                        yield found
                    behind = max(match.end(), match.start() + 1)
                    match = self._patterns[number].search(text, behind, beyond) if rule.at == "line" and behind < beyond else None


def _search_line(pattern: re.Pattern[str], text: str, at: int) -> tuple[re.Match[str] | None, int]:
    begin = text.rfind("\n", max(0, at - _LINE), at) + 1
    if begin == 0 and at > _LINE:
        return None, end_of_line(text, at)
    end = text.find("\n", at, at + _LINE)
    end = min(len(text), at + _LINE) if end < 0 else end

    return pattern.search(text, begin, end), end


def end_of_line(text: str, at: int) -> int:
    """Where the line ends that `at` is in."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _find_groups(rule: RedactionRule, match: re.Match[str]) -> Iterator[RedactedPlace]:
    for name, value in match.groupdict().items():
        if value and not name.startswith("of_"):
            kind, start = name.rstrip("0123456789"), match.start(name)
            single = _PLURALS.get(kind)
            if single is None:
                end = match.end(name)
                if kind == "token" and end - start >= _LONG and _UNBROKEN.match(match.string, start, end).end() == end:  # type: ignore[union-attr]
                    end = _UNBROKEN.match(match.string, end).end()  # type: ignore[union-attr]
                yield RedactedPlace(start, end, kind, rule.certain, rule.remember)
                continue
            pattern = _BRACKETS if single == "host" else _ITEM
            for item in pattern.finditer(value):
                yield RedactedPlace(start + item.start(), start + item.end(), single, rule.certain, rule.remember)


def disjoint(spans: Iterable[tuple[int, int]]) -> Spans:
    """The spans in order, without those that begin inside another."""
    end = 0
    for start, stop in sorted(spans, key=lambda s: (s[0], -s[1])):
        if start >= end:
            yield start, stop
            end = stop
