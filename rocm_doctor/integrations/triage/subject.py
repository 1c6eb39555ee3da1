"""Whether a report is about an AMD GPU. A comment on a report about other hardware is noise, so doubt means no."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Snapshot

_EMPTY = regex(
    r"^(?:[^:\n]{3,60}: *(?:n/a|none|no|could not collect|not found|not available)|[^\w\n]{0,20}\[ \].*)$", re.I | re.M
)
"""Fields of a form that say that there is nothing, and boxes that are not ticked."""
_CUDA_BUILD = regex(r"\bno nvidia (?:driver|gpu)s?\b.*|\bnvidia\.com\b|\bcu1[1-3]\d\b", re.I)
"""What a CUDA build of torch prints on a machine without an NVIDIA GPU, and its own version."""
_AMD = regex(
    r"\brocm\w*|\bhip(?!p)(?:error\w*|blas\w*|cc|rtc)?\b|\bgfx(?:9|1[0-2])[0-9a-f]{1,3}\b|\bamdgpu\b|/dev/kfd|\bradeon\b|\bamd instinct\b"
    r"|\bmi ?(?:50|60|100|210|250x?|300[ax]?|325x|350x|355x)\b|\brx ?[5-9]\d{3}(?:m|s|xt|xtx|gre)?\b|\bnavi ?\d\d\b|\bvega ?(?:10|20|56|64)\b"
    r"|\baiter\b|\btherock\b|\bradv\b|\bzluda\b|\bstrix(?: halo| point)\b|\bryzen ai\b|\bmiopen\w*|\bgpu node-\d|\brccl\b|\brocblas\w*|\bhsa_\w+|\bamd (?:gpu|card|graphics)s?\b",
    re.I,
)
_OTHER = regex(
    r"\bnvidia\b|\bgeforce\b|\b[rg]tx ?(?:a?\d{4}|pro)\b|\bquadro\b|\b(?:tesla|nvidia) ?[a-z]\d{1,3}\b|\b[hb][12]00\b|\ba100\b"
    r"|\bcudnn\w*|\bmps\b|\bapple m\d\b|\bmacos\b|\bintel arc\b|\bxpu\b|\bgaudi\b|\btpu\b",
    re.I,
)


def about_amd(snapshot: Snapshot, text: str) -> bool:
    """True if the text is about training or inference on an AMD GPU."""
    said = _CUDA_BUILD.sub("", _EMPTY.sub("", _visible(text)))
    ours, others = (_count_words(pattern, said) for pattern in (_AMD, _OTHER))
    named = [gpu for gpu in snapshot.gpus if "gfx" in gpu.facts]
    if not ours and not named:
        return False
    build = snapshot.get("torch.build").value
    if build == "rocm" or isinstance(snapshot.get("torch.rocm").value, str):
        return True
    foreign = isinstance(snapshot.get("said.nvidia").value, str) or build == "cuda"
    return sum(ours.values()) + len(named) > (2 if foreign else 1) * sum(others.values())


def _visible(text: str) -> str:
    """The text without HTML comments, in which templates of issues explain themselves."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])


def _count_words(pattern: re.Pattern[str], text: str) -> dict[str, int]:
    """Each word of the pattern that the text has, with how often, three times at most: a log repeats itself."""
    counts: dict[str, int] = {}
    for found in pattern.finditer(text):
        word = found.group().lower()
        counts[word] = min(3, counts.get(word, 0) + 1)
    return counts
