"""Failure lines in logs: the words of a condition are found in one line of a text, in linear time.

No regular expression of a row ever runs over a user's text: a condition is a few literal fragments (`a*b`: both, in this order,
in one line; `{crash}`: a complaint of catalog/reports.yaml). The set of words of a text is checked first (probes/read/words.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import lower
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.words import WordSet

_QUOTE = 240
_REACH = 400
"""Characters around a fragment that must hold the others: a log may be pasted as one line."""
_NAME = regex(r"\{([a-z-]+)\}")

Fragments = tuple[tuple[str, ...], ...]
"""The alternatives of a condition, each as the fragments that must follow one another in one line."""


def readable_logs(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """The artifacts that may hold a failure line: pasted text, logs, the kernel log, and the output of a smoke test."""
    places = ("paste/text", "log/", "kernel/log", "smoke/")
    # smoke/*.jsonl holds results; the output of a smoke test is in smoke/*.log.
    return [a for a in artifacts if not a.missing and a.name.startswith(places) and not a.name.endswith(".jsonl")]


class LogConditions(Mapping[str, Fragments]):
    """The fragments of each condition, worked out when they are first asked for: on most machines the facts settle most rows."""

    def __init__(self, asked: Iterable[str], complaints: Mapping[str, tuple[str, ...]]) -> None:
        self._asked: dict[str, Fragments | None] = dict.fromkeys(asked)
        self._complaints = complaints

    def __getitem__(self, condition: str) -> Fragments:
        found = self._asked[condition]
        if found is None:
            found = self._asked[condition] = fragments(condition, self._complaints)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


class Text(NamedTuple):
    """One artifact's text. `low`: the text in lower case; `words`: its words; `anchors`: by listed anchor whether it is in the
    text, if that has too many words to collect."""

    name: str
    text: str
    low: str
    words: WordSet
    anchors: Mapping[str, bool] | None

    def may_hold(self, parts: tuple[str, ...]) -> bool:
        """False if the text cannot hold all these fragments."""
        return self.words.may_hold(*parts) if self.anchors is None else self.anchors.get(_anchor(parts), True)


class Logs:
    """Texts to search for failure lines. `conditions`: all that will be searched for (`engine.failure_lines`), if given."""

    def __init__(self, artifacts: Iterable[Artifact], conditions: Mapping[str, Fragments] = {}) -> None:
        self._conditions = conditions
        self._texts = [_text(a, conditions) for a in artifacts if a.text]
        self._found: dict[str, Reading | None] = {}

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def length(self) -> int:
        """Characters of all texts."""
        return sum(len(text.text) for text in self._texts)

    def find(self, condition: str) -> Reading | None:
        """The first line with one alternative of the condition; None if there is none."""
        if not self._texts:
            return None
        if condition not in self._found:
            self._found[condition] = self._first(self._conditions.get(condition) or fragments(condition))
        return self._found[condition]

    def _first(self, asked: Fragments) -> Reading | None:
        for parts in asked:
            for text in self._texts:
                if text.may_hold(parts) and (found := _search(text, parts)):
                    return found
        return None


def _text(artifact: Artifact, conditions: Mapping[str, Fragments]) -> Text:
    low, words = lower(artifact.text), WordSet(artifact.text)
    many = conditions and not words.known
    return Text(artifact.name, artifact.text, low, words, _anchors(low, conditions.values()) if many else None)


def _anchors(low: str, conditions: Iterable[Fragments]) -> dict[str, bool]:
    """Whether the anchor of each of these conditions is in the text, found in one pass."""
    anchors = set(map(_anchor, chain.from_iterable(conditions)))
    seen = {match[1] for match in re.finditer(f"(?=({_trie(anchors)}))", low)}
    return {anchor: any(match.startswith(anchor) for match in seen) for anchor in anchors}


def _trie(words: Collection[str]) -> str:
    """A pattern that matches the longest of the words at an offset. Common prefixes are shared, so a thousand words cost little
    more than one."""
    tails: dict[str, list[str]] = {}
    for word in filter(None, words):
        tails.setdefault(word[0], []).append(word[1:])
    branches = "|".join(re.escape(first) + _trie(rest) for first, rest in sorted(tails.items()))
    return f"(?:{branches}){'?' if '' in words else ''}" if branches else ""


def fragments(condition: str, complaints: Mapping[str, tuple[str, ...]] = {}) -> Fragments:
    """The fragments of a condition, each `{name}` replaced by that complaint's phrases. An unknown name stays unchanged."""
    alternatives = (spelling for part in lower(condition).split("|") for spelling in _spellings(part, complaints))
    return tuple(filter(None, map(_parts, alternatives)))


def _parts(alternative: str) -> tuple[str, ...]:
    return (
        tuple([f for f in alternative.split("*") if f.strip()])
        if "*" in alternative or not alternative.strip()
        else (alternative,)
    )


def _spellings(alternative: str, complaints: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    found = next((f for f in _NAME.finditer(alternative) if f[1] in complaints), None) if "{" in alternative else None
    if found is None:
        yield alternative
        return
    head, tail = alternative[: found.start()], alternative[found.end() :]
    for words in complaints[found[1]]:
        yield from _spellings(head + words + tail, complaints)


def _anchor(parts: tuple[str, ...]) -> str:
    return max(parts, key=len)


def _search(text: Text, parts: tuple[str, ...]) -> Reading | None:
    """The line with all fragments: search the longest, then all of them in its line; each line is checked at most once."""
    low = text.low
    anchor = _anchor(parts)
    at = low.find(anchor)
    while at >= 0:
        start = max(low.rfind("\n", max(0, at - _REACH), at) + 1, at - _REACH, 0)
        end = low.find("\n", at, at + _REACH)
        end = min(len(low), at + _REACH) if end < 0 else end
        if _is_ordered(low[start:end], parts):
            return Reading(text.name, f"line {low.count(chr(10), 0, start) + 1}", text.text[start:end].strip()[:_QUOTE])
        at = low.find(anchor, max(end, at + 1))
    return None


def _is_ordered(line: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
