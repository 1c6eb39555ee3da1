"""Labels from a file of the repository: `arch.*: "AMD: architecture"`, `needs-information: [waiting]`, `amd: "AMD GPU"`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from rocm_doctor.bounded import files, yamls

AMD, NEEDS = "amd", "needs-information"
"""Keys beside diagnoses: every report about an AMD GPU, and those that lack a fact."""
_LONGEST = 50
"""Characters of a label on GitHub."""


def read(path: Path, known: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The mapping of a file: diagnosis, or pattern of diagnoses, to labels. Raises OSError, Unreadable or ValueError."""
    document = yamls.values(files.text(path))
    if not isinstance(document, dict):
        raise ValueError("expected a mapping from diagnoses to labels")
    names = [*known, AMD, NEEDS]
    mapping: dict[str, tuple[str, ...]] = {}
    for key, value in document.items():
        labels = value if isinstance(value, list) else [value]
        if not any(fnmatchcase(name, str(key)) for name in names):
            raise ValueError(f"unknown diagnosis `{key}`; known are those of `rocm-doctor explain`, {AMD} and {NEEDS}")
        if not all(isinstance(label, str) and 0 < len(label) <= _LONGEST for label in labels):
            raise ValueError(f"`{key}`: a label has 1 to {_LONGEST} characters")
        mapping[str(key)] = tuple(labels)
    return mapping


def choose_labels(lead: str, asked: bool, mapping: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The labels of a report with this likely diagnosis (empty: none), of which something was asked or not."""
    names = [AMD, *([lead] if lead else []), *([NEEDS] if asked else [])]
    return tuple(
        dict.fromkeys(label for key, labels in mapping.items() if any(fnmatchcase(n, key) for n in names) for label in labels)
    )
