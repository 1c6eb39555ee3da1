"""A source as an entry writes it: reference, locator, quotation and the day it was read.

    https://github.com/ROCm/TheRock/issues/7699 § comment of 2026-10-02 "fixed in 10.1", seen 2026-11-22

Only the first part must be there; it may be a short name of sources.yaml. The locator is a heading, a line or a comment.
The compiled matrix holds every reference as an address (`add_address`), so that a reader opens it in one step.
"""

from __future__ import annotations

import datetime
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex

_TEXT = regex(r'(?P<ref>.+?)(?: § (?P<at>[^"]*?)(?: ?"(?P<quote>[^"]+)")?)?(?:, seen (?P<seen>\d{4}-\d\d-\d\d))?$')
UNADDRESSED = "field report"
"""How a source begins that has no address: a second reader cannot follow it."""
_THREAD = regex(r"https://(?:github|gitlab)\.com/[^/]+/[^/]+/(?:-/)?(?:issues|discussions|pull|merge_requests)/\d+")


_FILE = regex(r"(?P<repo>[\w.-]+/[\w.-]+) (?P<path>[^\s@]+)@(?P<commit>\S+)$")
_PACKAGE = regex(r"PyPI (?:wheels?|metadata of|listing of|wheels of)? ?(?P<name>[A-Za-z][\w.-]*)(?: (?P<version>\d[\w.]*\w))?\b")


class Citation(NamedTuple):
    """A source as text, and its address if it has one."""

    ref: str
    at: str = ""
    quote: str = ""
    seen: datetime.date | None = None

    @property
    def is_publication(self) -> bool:
        """True for a publication of AMD or of a project; False for a tracker thread or a user's report."""
        return not _THREAD.match(self.ref) and not self.ref.startswith(UNADDRESSED)


def parse_citation(text: str) -> Citation:
    """A source as reference, place, quotation and day."""
    found = _TEXT.match(text)
    if found is None:
        return Citation(text)
    return Citation(found["ref"], found["at"] or "", found["quote"] or "", _date(found["seen"]))


def _date(text: str | None) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        return None


def add_address(text: str) -> str:
    """The source with its reference as an address: a file of a repository and a package of the index get theirs, and what the reference
    said of it becomes part of the locator. A source of another form is left as it is.

    >>> add_address("ROCm/TheRock RELEASES.md@89553ce § WSL, seen 2026-11-22")
    'https://github.com/ROCm/TheRock/blob/89553ce/RELEASES.md § WSL, seen 2026-11-22'
    >>> add_address("PyPI wheels peft 0.7.1 to 0.21.2: METADATA")
    'https://pypi.org/project/peft/0.7.1/ § wheels peft 0.7.1 to 0.21.2: METADATA'
    """
    ref = parse_citation(text).ref
    if file := _FILE.match(ref):
        return f"https://github.com/{file['repo']}/blob/{file['commit']}/{file['path']}{text.removeprefix(ref)}"
    if package := _PACKAGE.match(ref):
        page = "/".join(("https://pypi.org/project", package["name"], *filter(None, (package["version"],)), ""))
        return f"{page} § {ref.removeprefix('PyPI ')}{text.removeprefix(ref).replace(' § ', ', ', 1)}"
    return text
