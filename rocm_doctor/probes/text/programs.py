"""The program that a text is about, of those that the catalog knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rocm_doctor.matrix.types import Application
from rocm_doctor.probes.text.prose_text import Sentence

_TITLE = 3
"""Times that a mention in the first sentence counts."""
_VERSION = r"\d+\.\d+(?:\.\d+){0,2}(?:[-.]?(?:rc|beta|alpha|a|b)\.?\d{1,3})?"
_BETWEEN = (
    r"(?:[\s\"'(\[:@=/_-]|\b(?:version|release|runtime|engine|client|server|build|is|for amd|v)\b|\((?:windows|linux)\)){0,8}"
)
_NOUN = (
    r"\b(?:the|to|from|of|since|with|on|in|new|newest|latest|current|older|previous|last|my)\s+(?:new\s+)?"
    r"(?:release|version|build|runtime|engine|tag)s?\s+"
)


class Programs:
    """The programs of the catalog, and a pattern of all their names. Built once for a matrix."""

    def __init__(self, known: Sequence[Application]) -> None:
        self.known = known
        self._by_name = {name: one for one in known for name in one.names}
        names = sorted(self._by_name, key=len, reverse=True)
        self._names = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")(?![\w])") if names else None

    def of_text(self, text: Iterable[Sentence]) -> Found | None:
        """The program that is named most, the first sentence above all; an engine only where no program that may bring it is."""
        seen: dict[str, int] = {}
        first: dict[str, Sentence] = {}
        for number, sentence in enumerate(text):
            for hit in self._names.finditer(sentence.text.lower()) if self._names else ():
                key = self._by_name[hit[1]].key
                seen[key] = seen.get(key, 0) + (1 if number else _TITLE)
                first.setdefault(key, sentence)
        named = [one for one in self.known if one.key in seen]
        if not named:
            return None
        best = max(named, key=lambda one: seen[one.key] / (3 if one.engine else 1))
        names = re.compile("|".join(map(re.escape, best.names)))
        return Found(best, first[best.key], self._version(best), names)

    def _version(self, one: Application) -> re.Pattern[str]:
        """The pattern of a version of the program, or of the engine in it, in group 1."""
        names = [name for known in self.known if known is one or known.engine for name in known.names]
        before = r"(?<![\w.])(?:" + "|".join(map(re.escape, names)) + ")" + _BETWEEN
        builds = "|".join(
            dict.fromkeys(known.versions for known in self.known if known.versions and (known is one or known.engine))
        )
        version = f"({_VERSION}{'|' + builds if builds else ''})"
        return re.compile(rf"(?:{before}|{_NOUN})v?{version}(?![\w])", re.I)


class Found(NamedTuple):
    """The program of a text, the first sentence that names it, the pattern of its versions, and that of its names in lower case."""

    program: Application
    sentence: Sentence
    version: re.Pattern[str]
    names: re.Pattern[str]
