"""Sources as links: where a reader can follow one to, and the page of those that have no address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocm_doctor.matrix.citations import parse_citation
from website.text import Page, esc, heading, items, link, outside, slug

PLACE = "sources"
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)")
_FILE = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/blob/.*?([^/]+)$")
_HTTPS = re.compile(r"https://[\w.-]+(?:/[\w./%#?=&+~@:,;()!-]*)?")


def address(source: str) -> str:
    """Where a source can be read; empty for one without an address."""
    ref = parse_citation(source).ref
    return ref if _HTTPS.fullmatch(ref) else ""


def _label(ref: str) -> str:
    """What a source is, in a few words: `ROCm/TheRock#7699`, `ROCm/clr hip_error.cpp`, `rocm.docs.amd.com: environment.html`."""
    if found := _GITHUB.match(ref):
        return f"{found[1]}#{found[2]}"
    if found := _FILE.match(ref):
        return f"{found[1]} {found[2]}"
    if ref.startswith("https://"):
        host, _, path = ref.removeprefix("https://").rstrip("/").partition("/")
        return f"{host}: {path.rpartition('/')[2][:40]}" if path else host
    return ref


def source(text: str) -> str:
    """A short link to a source; one without an address leads to the page of sources."""
    one = parse_citation(text)
    label = esc(_label(one.ref))
    place = address(text)
    return outside(place, label) if place else link(f"{PLACE}/#{_anchor(one.ref)}", label)


def full(text: str) -> str:
    """A source with the place in it, the words quoted from it, and the day of the reading."""
    one = parse_citation(text)
    where = f" § {esc(one.at)}" if one.at else ""
    words = f" <q>{esc(one.quote)}</q>" if one.quote else ""
    place = address(text)
    return (outside(place, esc(one.ref)) if place else source(text)) + where + words + (f", read {one.seen}" if one.seen else "")


def _anchor(ref: str) -> str:
    return slug(ref)[:80].strip("-")


def page(cited_by: Iterable[tuple[str, str, str]]) -> Page:
    """The sources without an address and the entries that rest on them, from (source, home of the entry, its name)."""
    found: dict[str, dict[str, str]] = {}
    for text, home, entry in cited_by:
        if not address(text):
            found.setdefault(parse_citation(text).ref, {})[entry] = home
    lines = "\n".join(_lines(found))
    about = "Sources that have no public address: a document or a reading of files, and the entries that rest on each."
    return Page(PLACE, "Sources without an address", about, f"{about}\n\n{lines}", (("matrix", "Matrix"),))


def _lines(found: dict[str, dict[str, str]]) -> Iterator[str]:
    for ref, entries in sorted(found.items()):
        yield heading(2, ref, _anchor(ref)) + "\n"
        yield items(link(home, f"<code>{esc(entry)}</code>") for entry, home in sorted(entries.items())) + "\n"
