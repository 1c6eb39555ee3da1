"""The lines of a report that describe the problem: what is left after tools' output was cut away, and its failing lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.model import Artifact

MOST = 9_000
"""Characters weighed, at most. A person tells his trouble in the first few thousand; a log repeats itself."""
_HEAD, _TAIL = 5_000, 1_500
FAILURE = (
    r"error|fail|fault|abort|killed|timeout|hang|hung|stuck|nan\b|invalid|unable|cannot|can't|denied|missing|out of memory"
    r"|garbage|no longer|slow"
)
"""Words of a failure, whoever writes them."""
_TELLING = re.compile(
    FAILURE
    + r"|exception|sigsegv|core dump|timed out|reset|not found|no such|unsupported|not support|mismatch|oom|undefined symbol"
    r"|traceback|warn|assert|illegal|corrupt|worked|refus|\bhip|rocblas|miopen|hipblaslt|hsa_|kfd|amdgpu",
    re.I,
)
"""Words of failure in a line of a program."""
_BOILERPLATE = re.compile(
    r"^\W*(?:-?\s*\[[ x]\]\s.*|<!--.*-->|_no response_|n/?a|#+\s*(?:describe the (?:bug|issue)|steps to reproduce|to reproduce"
    r"|expected behaviou?r|additional (?:context|information)|screenshots|checklist|your current environment"
    r"|is there an existing issue.*|problem description|reproduction|system info|versions|environment)\W*)$",
    re.I,
)
_WIDTH = 600
"""Characters of a line that are looked at."""
_READ = 400_000
"""Characters of one artifact that are read: half of them at its beginning, half at its end."""
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
    """One line that describes the problem, and where it was read. `person`: a person wrote it, it is not a tool's or a log's."""

    artifact: str
    number: int
    text: str
    person: bool


def complaint(artifacts: Sequence[Artifact]) -> list[Line]:
    """The lines to weigh, in their order; none where neither a person nor a failing program speaks.

    Tools' output that was cut out of a paste counts only with its failing lines. Longer than MOST, the beginning, the end and the
    failing lines between them are kept.
    """
    lines: list[Line] = []
    for artifact in artifacts:
        if artifact.missing or not artifact.text:
            continue
        if artifact.name == "paste/text":
            lines += _of_paste(artifact, artifacts)
        elif artifact.name.startswith("log/") and not artifact.name.endswith(".jsonl"):
            lines += (one for one in _some(artifact) if _TELLING.search(one.text[:_WIDTH]))
    return _bounded(
        [one._replace(text=one.text[:_WIDTH].strip()) for one in lines if one.text and not _BOILERPLATE.match(one.text)]
    )


def text_of(lines: Iterable[Line]) -> str:
    """The lines as one text."""
    return "\n".join(line.text for line in lines)


def _of_paste(paste: Artifact, artifacts: Iterable[Artifact]) -> Iterator[Line]:
    """Every line outside of tools' output, and the telling ones inside."""
    covered = {
        number
        for one in artifacts
        if one.name.startswith("paste/") and one.name != "paste/text" and one.note == paste.note
        for number, line in enumerate(one.text[:_READ].split("\n"), 1)
        if line.strip()
    }
    for line in _some(paste):
        if line.number not in covered:
            yield line._replace(person=_is_sentence(line.text))
        elif _TELLING.search(line.text[:_WIDTH]):
            yield line


def _is_sentence(text: str) -> bool:
    return sum(word.strip(".,:;!?()\"'").lower() in _FUNCTION_WORDS for word in text[:_WIDTH].split()) >= 2


def _some(artifact: Artifact) -> Iterator[Line]:
    """The lines of a text; of a very long one those of its beginning and its end."""
    text = artifact.text
    if len(text) <= _READ:
        yield from (Line(artifact.name, n, line, False) for n, line in enumerate(text.split("\n"), 1))
        return
    yield from (Line(artifact.name, n, line, False) for n, line in enumerate(text[: _READ // 2].split("\n"), 1))
    after = text.count("\n", 0, len(text) - _READ // 2)
    yield from (Line(artifact.name, after + n, line, False) for n, line in enumerate(text[-_READ // 2 :].split("\n"), 1))


def _bounded(lines: list[Line]) -> list[Line]:
    """At most about MOST characters: lines of the beginning and the end, and failing lines between them, each kind once."""
    if sum(len(line.text) + 1 for line in lines) <= MOST:
        return lines
    first = _prefix(lines, _HEAD)
    last = len(lines) - _prefix(lines[:first:-1], _TAIL)
    room = MOST - _HEAD - _TAIL
    middle: list[Line] = []
    seen: set[str] = set()
    for line in lines[first:last]:
        kind = re.sub(r"\d+", "#", line.text)
        if room > 0 and kind not in seen and _TELLING.search(line.text):
            seen.add(kind)
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
