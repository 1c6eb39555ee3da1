"""The words of a report that tell of the trouble: what is left after tools' output was cut away, and the failing lines of that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rocm_doctor.model import Artifact

MOST = 9_000
"""Characters weighed, at most. A person tells his trouble in the first few thousand; a log repeats itself."""
_HEAD, _TAIL = 5_000, 1_500
_TELLING = re.compile(
    r"error|fail|fault|exception|abort|segfault|sigsegv|core dump|killed|timeout|timed out|hang|hung|stuck|reset|nan\b|invalid|unable"
    r"|cannot|can't|not found|no such|denied|unsupported|not support|missing|mismatch|out of memory|oom|undefined symbol|traceback"
    r"|warn|assert|illegal|corrupt|garbage|no longer|worked|slow|refus|\bhip|rocblas|miopen|hipblaslt|hsa_|kfd|amdgpu",
    re.I,
)
_BOILERPLATE = re.compile(
    r"^\W*(?:-?\s*\[[ x]\]\s.*|<!--.*-->|_no response_|n/?a|#+\s*(?:describe the (?:bug|issue)|steps to reproduce|to reproduce"
    r"|expected behaviou?r|additional (?:context|information)|screenshots|checklist|your current environment"
    r"|is there an existing issue.*|problem description|reproduction|system info|versions|environment)\W*)$",
    re.I,
)
_CUT_WIDTH = 600


def complaint(artifacts: Sequence[Artifact]) -> str:
    """The words to weigh, one line each, in their order; empty where no text of a person or of a failing program is at hand.

    Tools' output that was cut out of a paste counts only with its failing lines. Longer than MOST, the beginning, the end and the
    failing lines between them are kept.
    """
    lines: list[str] = []
    for artifact in artifacts:
        if artifact.missing or not artifact.text:
            continue
        if artifact.name == "paste/text":
            lines += _of_paste(artifact, artifacts)
        elif artifact.name.startswith(("log/", "kernel/log")) and not artifact.name.endswith(".jsonl"):
            lines += [line for line in _some(artifact.text) if _TELLING.search(line)]
    return _bounded([line for line in lines if line and not _BOILERPLATE.match(line)])


def _of_paste(paste: Artifact, artifacts: Iterable[Artifact]) -> list[str]:
    covered = {
        number
        for one in artifacts
        if one.name.startswith("paste/") and one.name != "paste/text" and one.note == paste.note
        for number, line in enumerate(one.text[:400_000].split("\n"))
        if line.strip()
    }
    kept = []
    for number, line in enumerate(_some(paste.text)):
        if number not in covered or _TELLING.search(line[:_CUT_WIDTH]):
            kept.append(line[:_CUT_WIDTH].strip())
    return kept


def _some(text: str) -> list[str]:
    """The lines of a text; of a very long one those of its beginning and its end."""
    return (text if len(text) <= 400_000 else text[:200_000] + "\n" + text[-200_000:]).split("\n")


def _bounded(lines: list[str]) -> str:
    whole = "\n".join(lines)
    if len(whole) <= MOST:
        return whole
    head, tail = whole[:_HEAD], whole[-_TAIL:]
    room = MOST - _HEAD - _TAIL
    middle: list[str] = []
    seen: set[str] = set()
    for line in whole[_HEAD:-_TAIL].split("\n"):
        key = re.sub(r"\d+", "#", line)
        if _TELLING.search(line) and key not in seen and room > 0:
            seen.add(key)
            middle.append(line)
            room -= len(line) + 1
    return "\n".join([head, *middle, tail])
