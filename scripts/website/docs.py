"""The pages under docs/ and the README's answer to "what is it", with links that stay inside the site where they can."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rocm_doctor._version import PROJECT
from rocm_doctor.coords import COORDS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "docs"
FIRST = ("check", "plan", "fit", "lint", "bench", "frameworks", "ci", "triage", "agents", "notebooks", "privacy", "report")
"""What people look for first; the other pages follow by name."""
_LINK = re.compile(r"(\]\(|\]: )([^)\s#]+)((?:#[^)\s]*)?)")
_ABSOLUTE = re.compile(re.escape(PROJECT) + r"/blob/main/(docs/[\w./-]+)")


FOR_DEVELOPERS = {"dependencies", "style"}
"""Documents that stay in the repository."""


class Doc(NamedTuple):
    """A document: its file on the site, the title in the navigation, its text."""

    file: str
    title: str
    text: str


def docs() -> Iterator[Doc]:
    """Every document of docs/, those that people look for first in front."""
    paths = {path.stem: path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in FOR_DEVELOPERS}
    for stem in (*(name for name in FIRST if name in paths), *(name for name in paths if name not in FIRST)):
        text = paths[stem].read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        name = title[1].replace("`", "") if title else stem
        front = json.dumps({"title": f"rocm-doctor: {name}"})
        yield Doc(f"{FOLDER}/{stem}.md", name, f"---\n{front}\n---\n\n{linked(text)}")
    yield Doc(f"{FOLDER}/facts.md", "Facts", _facts())


def _facts() -> str:
    """Every name of the vocabulary, as `probe` prints it and rows ask for it."""
    lines = [
        "# Facts",
        "",
        "Every fact has one name, used by rows, findings and `rocm-doctor probe --format json`: a dot is a level, `pkg.*` is under",
        "`packages`, and `gpu.*` in each of `gpus`. A value that is not known is `null` there; the report keeps why.",
        "",
        "| name | compares as | meaning |",
        "|---|---|---|",
        *(f"| `{name}{'NAME' if name.endswith('.') else ''}` | {one.kind} | {one.meaning} |" for name, one in COORDS.items()),
    ]
    return "\n".join(lines) + "\n"


def linked(text: str) -> str:
    """The text with links to files that are no page of the site turned into links to the repository."""
    return _LINK.sub(_moved, text)


def _moved(found: re.Match[str]) -> str:
    before, target, anchor = found.groups()
    own = _ABSOLUTE.fullmatch(target)
    path = (ROOT / own[1]) if own else (ROOT / "docs" / target).resolve()
    if not own and (target.startswith(("http:", "https:", "mailto:", "#")) or not path.is_relative_to(ROOT)):
        return found[0]
    inside = path.relative_to(ROOT)
    if (
        inside.parts[0] == "docs"
        and len(inside.parts) == 2
        and path.is_file()
        and inside.suffix == ".md"
        and inside.stem not in FOR_DEVELOPERS
    ):
        return f"{before}{inside.name}{anchor}"
    return f"{before}{PROJECT}/blob/main/{inside}{anchor}"
