"""The words of a text that describe the problem: what is left after tools' output was cut away, and its failing lines.

What redaction put into a text counts as a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.redaction.rules import PSEUDONYM

MOST = 9_000
"""Characters weighed, at most. A person tells his trouble in the first few thousand; a log repeats itself."""
_HEAD, _TAIL = 5_000, 1_500
_FAILURE = regex(
    r"error|fail|fault|abort|killed|timeout|hang|hung|stuck|nan\b|invalid|unable|cannot|can't|denied|missing|out of memory"
    r"|garbage|no longer|slow|exception|sigsegv|core dump|timed out|reset|not found|no such|unsupported|not support|mismatch|oom"
    r"|undefined symbol|traceback|warn|assert|illegal|corrupt|worked|refus|\bhip|rocblas|miopen|hipblaslt|hsa_|kfd|amdgpu",
    re.I,
)
"""Words of failure in a line of a program."""
_BROKEN = regex(
    r"segmentation fault|sigsegv|core dumped|traceback \(most|\b\w*error:|\b(?:failed|could not|cannot|unable to)\b|invalid device",
    re.I,
)
"""Words with which a program ends."""
_BOILERPLATE = regex(
    r"^\W{0,80}(?:\[[ x]\]\s.*|<!--.*-->|_no response_|n/?a|(?:(?<=#)|(?<=#\s))(?:describe the (?:bug|issue)|steps to reproduce|to reproduce"
    r"|expected behaviou?r|additional (?:context|information)|screenshots|checklist|your current environment"
    r"|is there an existing issue.{0,80}|problem description|reproduction|system info|versions|environment)\W*)$",
    re.I,
)
_WIDTH = 600
"""Characters of a line that are looked at."""
_READ = 200_000
"""Characters that are read, an equal part of each text, half of it at its beginning, half at its end."""
_WORDS = 8
"""Words of a line that make a sentence; less is a caption over a tool's output."""


def complaint(artifacts: Sequence[Artifact]) -> str:
    """The lines to weigh, in their order; empty where there is neither a sentence nor a program that ends with an error.

    Tools' output that was cut out of a paste counts only with its failing lines. Of more than MOST characters, the beginning, the end and
    the failing lines between them are kept.
    """
    texts = [a for a in artifacts if a.text and not a.missing and _is_read(a.name)]
    parts = [(a, part) for a in texts for part in _ends(a.text, _READ // len(texts))]
    lines: list[str] = []
    told = False
    for artifact, (first, text) in parts:
        covered = _tool_lines(artifact, artifacts) if artifact.name == "paste/text" else set()
        for number, line in enumerate(PSEUDONYM.sub("<name>", text).split("\n"), first):
            short = line[:_WIDTH].strip()
            spoken = artifact.name == "paste/text" and number not in covered
            if short and (spoken or _FAILURE.search(short)) and not _BOILERPLATE.match(short):
                lines.append(short)
                told = told or (spoken and len(short.split()) >= _WORDS) or _BROKEN.search(short) is not None
    return "\n".join(_shorten(lines)) if told else ""


def _is_read(name: str) -> bool:
    return name == "paste/text" or (name.startswith("log/") and not name.endswith(".jsonl"))


def _tool_lines(paste: Artifact, artifacts: Iterable[Artifact]) -> set[int]:
    """The numbers of the lines of a paste that are a tool's output."""
    return {
        number
        for artifact in artifacts
        if artifact.name.startswith("paste/") and artifact.name != "paste/text" and artifact.note == paste.note
        for number, line in enumerate(artifact.text[:_READ].split("\n"), 1)
        if line.strip()
    }


def _ends(text: str, most: int) -> Iterator[tuple[int, str]]:
    """(number of its first line, text); of a text over `most` characters its beginning and its end."""
    if len(text) <= most:
        yield 1, text
    else:
        half = max(most // 2, 1)
        yield 1, text[:half]
        yield 1 + text.count("\n", 0, len(text) - half), text[-half:]


def _shorten(lines: list[str]) -> list[str]:
    """At most about MOST characters: lines of the beginning and the end, and failing lines between them, each kind once."""
    if sum(len(line) + 1 for line in lines) <= MOST:
        return lines
    first = _prefix(lines, _HEAD)
    last = len(lines) - _prefix(lines[:first:-1], _TAIL)
    kinds = {re.sub(r"\d+", "#", line): line for line in reversed(lines[first:last]) if _FAILURE.search(line)}
    middle = list(reversed(kinds.values()))
    return [*lines[:first], *middle[: _prefix(middle, MOST - _HEAD - _TAIL)], *lines[last:]]


def _prefix(lines: Iterable[str], room: int) -> int:
    """How many of the lines fit into that many characters; one at least."""
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return max(1, count)
    return MOST
