"""Failure lines in logs: find the words of a condition in one line of a text, in time linear in the text.

No regular expression of a row ever runs over a user's text: a condition is a few literal fragments (`a*b`: both, in this order,
in one line; `{crash}`: a complaint as complaints.py spells it). A large text is first asked which words it holds at all: these
are few, so that a thousand fragments cost one pass over the text and not a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from rocm_doctor.model import Artifact, Reading
from rocm_doctor.rules.complaints import expanded

_LETTERS = re.compile(r"[a-z]+")
_BLANKED = bytes(c if chr(c).islower() and c < 128 else 32 for c in range(256))
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
        self._words = _vocabulary(low for _, _, low in self.texts) if size > _LARGE else ""

    def __bool__(self) -> bool:
        return bool(self.texts)

    def find(self, condition: str) -> Reading | None:
        """The first line in which one alternative of the condition stands; None when there is none."""
        if condition not in self._found:
            self._found[condition] = next(filter(None, map(self._line_with, fragments(condition))), None)
        return self._found[condition]

    def _line_with(self, parts: tuple[str, ...]) -> Reading | None:
        if self._words and not all(word in self._words for word in needed_words(parts)):
            return None
        return next(filter(None, (_search(name, text, low, parts) for name, text, low in self.texts)), None)


@cache
def fragments(condition: str) -> tuple[tuple[str, ...], ...]:
    """The alternatives of a condition, each as the fragments that must follow one another in one line."""
    alternatives = expanded(_fold(condition)).split("|")
    return tuple(filter(None, (tuple(f for f in alt.split("*") if f.strip()) for alt in alternatives)))


@cache
def needed_words(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Runs of letters that a line with these fragments holds; a blank stands where a run is known to begin or to end."""
    runs = ((part, found) for part in parts for found in _LETTERS.finditer(part))
    return tuple((" " if f.start() else "") + f[0] + (" " if f.end() < len(part) else "") for part, f in runs)


def _vocabulary(texts: Iterable[str]) -> str:
    """Every run of letters of these texts (in lower case), once, between blanks."""
    return " ".join(["", *sorted({w for low in texts for w in _runs(low)}), ""])


def _runs(low: str) -> Iterator[str]:
    return map(bytes.decode, set(low.encode("ascii", "replace").translate(_BLANKED).split()))


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
        at = low.find(anchor, max(end, at + 1))
    return None


def _in_order(line: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
