"""The lines of a report that describe the problem: what is left after tools' output was cut away, and its failing lines.

Names, addresses and secrets are out of what is weighed, so that a redacted report gets the verdict that it got before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.rules import PSEUDONYM

MOST = 9_000
"""Characters weighed, at most. A person tells his trouble in the first few thousand; a log repeats itself."""
_HEAD, _TAIL = 5_000, 1_500
FAILURE = (
    r"error|fail|fault|abort|killed|timeout|hang|hung|stuck|nan\b|invalid|unable|cannot|can't|denied|missing|out of memory"
    r"|garbage|no longer|slow"
)
"""Words of a failure, whoever writes them."""
_TELLING = regex(
    FAILURE
    + r"|exception|sigsegv|core dump|timed out|reset|not found|no such|unsupported|not support|mismatch|oom|undefined symbol"
    r"|traceback|warn|assert|illegal|corrupt|worked|refus|\bhip|rocblas|miopen|hipblaslt|hsa_|kfd|amdgpu",
    re.I,
)
"""Words of failure in a line of a program."""
_BOILERPLATE = regex(
    r"^\W*(?:\[[ x]\]\s.*|<!--.*-->|_no response_|n/?a|(?:(?<=#)|(?<=#\s))(?:describe the (?:bug|issue)|steps to reproduce|to reproduce"
    r"|expected behaviou?r|additional (?:context|information)|screenshots|checklist|your current environment"
    r"|is there an existing issue.*|problem description|reproduction|system info|versions|environment)\W*)$",
    re.I,
)
_WIDTH = 600
"""Characters of a line that are looked at."""
_READ = 200_000
"""Characters that are read, an equal part of each text, half of it at its beginning, half at its end: 0.1 s of redaction."""
_FUNCTION_WORDS = frozenset((
    "the", "a", "an", "is", "are", "was", "were", "my", "i", "it", "this", "that", "with", "when", "on", "in", "and",
    "not", "no", "but", "to", "of", "for", "from", "at", "after", "since", "does", "do", "doesn't", "don't", "can't",
    "cannot", "only", "have", "has", "i'm", "it's", "how", "why", "what", "which", "into", "same", "both", "if", "as",
    "by", "der", "die", "das", "ist", "nicht", "mit", "ich", "und", "auf", "bei", "wenn", "ein", "eine", "mein", "le",
    "la", "les", "est", "pas", "avec", "je", "et", "sur", "quand", "mon", "el", "no", "con", "mi", "y", "en", "cuando",
    "se", "que",
))  # fmt: skip
"""Words that sentences of people hold, in the languages that most reports are written in; listings and log lines hold few."""


class Line(NamedTuple):
    """One line that describes the problem, and where it was read. `person`: a person wrote it, not a tool or a log.

    `text` is what is weighed, with `<name>` for whatever redaction replaces; `quote` is what was written.
    """

    artifact: str
    number: int
    text: str
    person: bool
    quote: str


def complaint(artifacts: Sequence[Artifact]) -> list[Line]:
    """The lines to weigh, in their order; none where there is neither a person's text nor a failing program's.

    Tools' output that was cut out of a paste counts only with its failing lines. Longer than MOST, the beginning, the end and the
    failing lines between them are kept.
    """
    texts = [a for a in artifacts if a.text and not a.missing and _is_read(a.name)]
    redactor = Redactor()
    parts = [(a, part) for a in texts for part in _ends(a.text, _READ // len(texts))]
    for _, (_, text) in parts:
        redactor.learn(text)
    lines: list[Line] = []
    for artifact, (first, text) in parts:
        read = _lines(artifact.name, first, text, redactor)
        lines += _telling_lines(artifact, read, artifacts) if artifact.name == "paste/text" else filter(_telling, read)
    return _shorten(
        [one._replace(text=one.text[:_WIDTH].strip()) for one in lines if one.text and not _BOILERPLATE.match(one.text)]
    )


def _is_read(name: str) -> bool:
    return name == "paste/text" or (name.startswith("log/") and not name.endswith(".jsonl"))


def _telling(line: Line) -> bool:
    return _TELLING.search(line.text[:_WIDTH]) is not None


def _lines(artifact: str, first: int, text: str, redactor: Redactor) -> Iterator[Line]:
    """The lines of a text whose first line has this number, as written and as weighed: redaction keeps their count."""
    weighed = PSEUDONYM.sub("<name>", redactor.replace(text))
    for number, (line, quote) in enumerate(zip(weighed.split("\n"), text.split("\n")), first):
        yield Line(artifact, number, line, False, quote)


def text_of(lines: Iterable[Line]) -> str:
    """The lines as one text."""
    return "\n".join(line.text for line in lines)


def _telling_lines(paste: Artifact, lines: Iterable[Line], artifacts: Iterable[Artifact]) -> Iterator[Line]:
    """Every line outside of tools' output, and the telling ones inside."""
    covered = {
        number
        for one in artifacts
        if one.name.startswith("paste/") and one.name != "paste/text" and one.note == paste.note
        for number, line in enumerate(one.text[:_READ].split("\n"), 1)
        if line.strip()
    }
    for line in lines:
        if line.number not in covered:
            yield line._replace(person=_is_sentence(line.text[:_WIDTH]))
        elif _telling(line):
            yield line


@lru_cache(maxsize=4096)  # a log repeats its lines
def _is_sentence(text: str) -> bool:
    return sum(word.strip(".,:;!?()\"'").lower() in _FUNCTION_WORDS for word in text.split()) >= 2


def _ends(text: str, most: int) -> Iterator[tuple[int, str]]:
    """The text with the number of its first line; of a longer one than `most` its beginning and its end."""
    if len(text) <= most:
        yield 1, text
    else:
        half = max(most // 2, 1)
        yield 1, text[:half]
        yield 1 + text.count("\n", 0, len(text) - half), text[-half:]


def _shorten(lines: list[Line]) -> list[Line]:
    """At most about MOST characters: lines of the beginning and the end, and failing lines between them, each kind once."""
    if sum(len(line.text) + 1 for line in lines) <= MOST:
        return lines
    first = _prefix(lines, _HEAD)
    last = len(lines) - _prefix(lines[:first:-1], _TAIL)
    room = MOST - _HEAD - _TAIL
    middle: list[Line] = []
    seen: set[str] = set()
    for line in lines[first:last]:
        if room <= 0:
            break
        kind = re.sub(r"\d+", "#", line.text)
        if kind not in seen:
            seen.add(kind)
            if _TELLING.search(line.text):
                middle.append(line)
                room -= len(line.text) + 1
    return [*lines[:first], *middle, *lines[last:]]


def _prefix(lines: Iterable[Line], room: int) -> int:
    """How many of the lines fit into that many characters; one at least."""
    for count, line in enumerate(lines):
        room -= len(line.text) + 1
        if room < 0:
            return max(1, count)
    return 1
