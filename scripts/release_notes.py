"""The changelog's section of a tag, for the release page. Refuses a tag that is not the version, and a version that is not dated.

python scripts/release_notes.py v1.2.3
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rocm_doctor._version import __version__

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def notes(tag: str, changelog: str, version: str) -> str:
    """The section's text. Raises ValueError with what to mend."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag} and the version {version}: set rocm_doctor/_version.py or tag v{version}")
    section = re.search(
        rf"^### {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)\n(.*?)(?=^##|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if not section:
        raise ValueError(f"CHANGELOG.md has no section `### {version} (YYYY-MM-DD)`")
    return section[2].strip()


if __name__ == "__main__":
    try:
        print(notes(sys.argv[1], CHANGELOG.read_text(encoding="utf-8"), __version__))
    except ValueError as problem:
        sys.exit(f"release_notes: {problem}")
