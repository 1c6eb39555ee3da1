"""Failure lines in logs: find the words of a condition in one line of a text, in time linear in the text.

No regular expression of a row ever runs over a user's text: a condition is a few literal fragments (`a*b`: both, in this order,
in one line; `{crash}`: a complaint as complaints.py spells it). A large text is first asked which words it holds at all, so that hundreds of signatures cost one pass, not hundreds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from rocm_doctor.model import Artifact, Reading
from rocm_doctor.rules.complaints import expanded

_WORD = re.compile(r"[a-z0-9_]{4,}")
_LARGE = 200_000
_QUOTE = 240


def readable_logs(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """The artifacts in which a failure line may stand: pasted text, logs, the kernel's log, and what a smoke test printed."""
    places = ("paste/text", "log/", "kernel/log", "smoke/")
    # smoke/*.jsonl holds results, not words: what a smoke test printed stands in smoke/*.log.
    return [a for a in artifacts if not a.missing and a.name.startswith(places) and not a.name.endswith(".jsonl")]


class Logs:
    """Texts to be searched for failure lines."""

    def __init__(self, artifacts: Iterable[Artifact]) -> None:
        self.texts = [(a.name, a.text, _fold(a.text)) for a in artifacts if a.text]
        size = sum(len(text) for _, text, _ in self.texts)
        self._found: dict[str, Reading | None] = {}
        self._words = {w for _, _, low in self.texts for w in _WORD.findall(low)} if size > _LARGE else None

    def __bool__(self) -> bool:
        return bool(self.texts)

    def find(self, condition: str) -> Reading | None:
        """The first line in which one alternative of the condition stands; None when there is none."""
        if condition not in self._found:
            self._found[condition] = next(filter(None, map(self._line_with, fragments(condition))), None)
        return self._found[condition]

    def _line_with(self, parts: tuple[str, ...]) -> Reading | None:
        if self._words is not None and not needed_words(parts) <= self._words:
            return None
        return next(filter(None, (_search(name, text, low, parts) for name, text, low in self.texts)), None)


@cache
def fragments(condition: str) -> tuple[tuple[str, ...], ...]:
    """The alternatives of a condition, each as the fragments that must follow one another in one line."""
    alternatives = expanded(_fold(condition)).split("|")
    return tuple(tuple(f for f in alt.split("*") if f.strip()) for alt in alternatives if alt.strip("* "))


@cache
def needed_words(parts: tuple[str, ...]) -> frozenset[str]:
    """Words that stand whole inside a fragment: a text that lacks one of them cannot hold the line."""
    inner = (m for part in parts for m in _WORD.finditer(part) if m.start() > 0 and m.end() < len(part))
    return frozenset(m[0] for m in inner)


def _fold(text: str) -> str:
    """Lower case without changing any offset (a few letters grow when folded: those texts keep their case there)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _search(name: str, text: str, low: str, parts: tuple[str, ...]) -> Reading | None:
    """Look for the longest fragment, then for all of them in its line; every line is looked at once at most."""
    anchor = max(parts, key=len)
    at = low.find(anchor)
    while at >= 0:
        start = low.rfind("\n", 0, at) + 1
        end = low.find("\n", at)
        end = len(low) if end < 0 else end
        if _in_order(low[start:end], parts):
            return Reading(name, f"line {low.count(chr(10), 0, start) + 1}", text[start:end].strip()[:_QUOTE])
        at = low.find(anchor, end)
    return None


def _in_order(line: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
