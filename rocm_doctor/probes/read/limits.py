"""Limits on the input of probes: parsing is fast on what tools print, but a bundle from outside may hold anything."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_doctor.model import Artifact, Reading

LINES = 20_000
"""Lines of one file or of one tool's output. rocminfo prints 7,000 for 64 partitions."""
BYTES = 4 << 20
"""Characters of one file or of one tool's output; also the limit for a tool that runs here."""
ALL_LINES = 200_000
"""Lines of all files and outputs: 2 s of parsing at most. A machine with 64 GPUs has 40,000."""
LOG_LINES = 2_000_000
"""Lines of all logs, which are only searched: 3 s at most. A week of training steps has 100,000."""
PACKAGES = 5_000
"""Packages of one list. A full Anaconda has 600, a distribution 4,000."""

_LOGS = ("log/", "kernel/log", "paste/text")
NOT_READ = "not read: "
"""Prefix of the note on an artifact that a source left out because of its own limits."""


def apply_limits(artifacts: Iterable[Artifact]) -> tuple[list[Artifact], list[Reading]]:
    """All artifacts in their order, each cut to the limits, and an error for each one that was cut or that its source did not
    read (NOT_READ). The logs share LOG_LINES. All other artifacts share ALL_LINES, and each of them is cut to LINES and BYTES,
    too."""
    kept: list[Artifact] = []
    errors: list[Reading] = []
    left = {True: LOG_LINES, False: ALL_LINES}
    for artifact in artifacts:
        log = artifact.name.startswith(_LOGS)
        most = left[log] if log else min(left[log], LINES)
        text = _head(artifact.text, most, len(artifact.text) if log else BYTES)
        left[log] -= text.count("\n")
        if text is not artifact.text:
            artifact = msgspec.structs.replace(artifact, text=text)
            errors.append(Reading(artifact.name, "", f"too long: only the first {text.count(chr(10))} lines were read", "probe"))
        elif artifact.missing and artifact.note.startswith(NOT_READ):
            errors.append(Reading(artifact.name, "", artifact.note.removeprefix(NOT_READ), "probe"))
        kept.append(artifact)
    return kept, errors


def _head(text: str, lines: int, characters: int) -> str:
    """The first lines of a text, or all of a short one."""
    if len(text) <= characters and text.count("\n") <= lines:
        return text
    text = text[:characters]
    if text.count("\n") > lines:
        text = "\n".join(text.split("\n", lines)[:lines]) + "\n"
    return text
