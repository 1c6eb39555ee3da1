"""A source as an entry writes it: reference, locator, quotation and the day it was read.

    https://github.com/ROCm/TheRock/issues/7699 § comment of 2026-10-02 "fixed in 10.1", seen 2026-11-22

Only the first part must be there: an address, which a reader opens in one step, a short name of sources.yaml, or `field report: ...`. The
locator is a heading, a line or a comment.
"""

from __future__ import annotations

import contextlib
import datetime
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex

_TEXT = regex(r'(?P<ref>.+?)(?: § (?P<at>[^"]*?)(?: ?"(?P<quote>[^"]+)")?)?(?:, seen (?P<seen>\d{4}-\d\d-\d\d))?$')
UNADDRESSED = "field report"
"""How a source begins that has no address: a second reader cannot follow it."""
_THREAD = regex(
    r"https://[^/]+/(?:[^?#]*/)?"
    r"(?:(?:issues|discussions|pull|merge_requests|work_items)/\d|show_bug\.cgi\?id=\d|r/[^/]+/comments/|t/[^/]+/\d)"
)
"""Forms of GitHub and GitLab, Bugzilla, Reddit and Discourse, on any host."""


class Citation(NamedTuple):
    """A source. `ref`: its address, or `field report: ...`; `at`: the place in it; `quote`: its words; `seen`: the day on which
    they were read."""

    ref: str
    at: str = ""
    quote: str = ""
    seen: datetime.date | None = None

    @property
    def is_publication(self) -> bool:
        """False for a thread of a tracker or a forum, known by the form of its address, and for a field report; True for any
        other source."""
        return not _THREAD.match(self.ref) and not self.ref.startswith(UNADDRESSED)


def parse_citation(text: str) -> Citation:
    """A source as reference, place, quotation and day."""
    found = _TEXT.match(text)
    if found is None:
        return Citation(text)
    seen = None
    with contextlib.suppress(ValueError):  # a day that is none
        seen = datetime.date.fromisoformat(found["seen"] or "")
    return Citation(found["ref"], found["at"] or "", found["quote"] or "", seen)
