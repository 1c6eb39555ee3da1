"""Checks of sources: their form, whether they can carry the grade, and whether they say what the entry says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.advice import AdviceCase
from rocm_doctor.matrix.citations import UNADDRESSED, parse_citation
from rocm_doctor.matrix.rows import Row
from rocm_doctor.matrix.types import Support
from rocm_doctor.versions import release

_FORM = regex(r"https://[\w.-]+\.[a-z]{2,}/\S*$|field report: .+(\(.*20\d\d.*\)|\d.*)$")
_OF_RELEASE = regex(r"/docs-(\d+\.\d+(?:\.\d+)?)/")
"""A source that is about one ROCm release, and its number."""


def source_form(entry: Any) -> Iterator[tuple[str, str]]:
    """(field, message) for an entry without sources, and for each source that is neither an address nor a dated field report. An
    entry without a field for sources (phrases) states nothing and needs none."""
    sources = getattr(entry, "sources", ())
    if not sources and hasattr(entry, "sources") and not isinstance(entry, AdviceCase):  # a case has its diagnosis' sources
        yield "sources", "no source: every statement needs one"
    for override in getattr(entry, "overrides", ()):
        sources += override.sources
    if isinstance(entry, Row):
        sources += tuple(one.source for ranges in entry.affected.values() for one in ranges if one.source)
    for ref in (parse_citation(source).ref for source in sources):
        if not _FORM.match(ref):
            yield "sources", f"`{ref}` is not a citation: give a URL, a name of sources.yaml, or `field report: what (date)`"


def publications(entry: Any) -> Iterator[tuple[str, str]]:
    """(field, message) if an official statement has only tracker threads as sources. A thread in AMD's tracker is not a
    publication."""
    sources = [parse_citation(source) for source in getattr(entry, "sources", ())]
    if getattr(entry, "grade", "") == "official" and sources and not any(source.is_publication for source in sources):
        yield "grade", f"official, but {sources[0].ref} is a tracker thread, not a publication; use upstream or field"


def addresses(entry: Any) -> Iterator[tuple[str, str]]:
    """(field, message) for the entry and each override of another grade than hearsay, if none of its sources has an address."""
    for field, one in (("grade", entry), *(("overrides", override) for override in getattr(entry, "overrides", ()))):
        sources = [parse_citation(source).ref for source in getattr(one, "sources", ())]
        if getattr(one, "grade", "hearsay") != "hearsay" and sources and all(s.startswith(UNADDRESSED) for s in sources):
            yield field, f"{one.grade}, but no source has an address; use hearsay"


def range_sources(entry: Support) -> Iterator[tuple[str, str]]:
    """(field, message) if the statement reaches beyond the ROCm release that its sources are about. Nothing if one of them is not
    about a release."""
    about = [release(found[1]) if (found := _OF_RELEASE.search(parse_citation(source).ref)) else None for source in entry.sources]
    end = release(entry.until.replace(".x", ""))
    if end and about and all(about) and end[:2] > max(one[:2] for one in about if one):
        last = ".".join(map(str, max(one for one in about if one)))
        yield "until", f"`{entry.until}` is later than its sources, which are about {last}"
