"""Whether a report is about an AMD GPU. A comment on a report about other hardware is noise, so doubt means no."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report

_UNFILLED = regex(
    r"^(?:[^:\n]{3,60}: *(?:n/a|none|no|could not collect|not found|not available)|[^\w\n]{0,20}\[ \].*)$", re.I | re.M
)
"""Fields of a form that say that there is nothing, and boxes that are not ticked."""
_WORD = regex(r"[a-z]+")
_VENDOR = {"amd", "rocm", "radeon", "amdgpu", "hip", "gfx"}
_LAYERS = ("driver", "runtime")


def concerns_amd(report: Report, text: str, matrix: Matrix) -> bool:
    """True if `check` reads an AMD GPU, a torch for ROCm or a failure of AMD's driver or runtime in the text; where nothing else is read,
    if it names AMD, ROCm or a part of it. A GPU of another vendor in the text means no."""
    facts = report.snapshot
    if facts.get("torch.build").value == "rocm":
        return True
    if isinstance(facts.get("said.nvidia").value, str):
        return False
    rows = (matrix.by_key.get(finding.row) for finding in report.findings if finding.leads)
    if facts.gpus or any(row and row.layer in _LAYERS for row in rows):
        return True
    parts = tuple({name.lower() for release in matrix.rocm for name in release.components})
    words = _WORD.findall(_UNFILLED.sub("", _drop_comments(text)).lower())
    return facts.get("torch.build").value != "cuda" and any(word in _VENDOR or word.startswith(parts) for word in words)


def _drop_comments(text: str) -> str:
    """The text without HTML comments, in which templates of issues explain themselves."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])
