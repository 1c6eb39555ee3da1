"""Text of the matrix as HTML and markdown, and addresses inside and outside of the site.

Everything that a row says passes `esc` (or `prose`, `heading`, which call it). A link inside the site is written as
`site:gpu/gfx1100/#linux`; `written` makes it relative to the page, and refuses a page that does not exist.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Container, Iterable
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

REPOSITORY = "https://github.com/rocm-doctor/rocm-doctor"
FORM = "wrong-statement.yml"
_SPAN = re.compile(r"`([^`\s][^`]*)`")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|])")
_SITE = re.compile(r'"site:([^"#]*?)/?(#[^"]*)?"')


class Page(NamedTuple):
    """One page: its place (`gpu/gfx1100`), what the browser's tab shows, and markdown below the first heading.

    `searched`: all of it, its lead (a page that repeats another's content), or nothing. `found_by`: words that lead to it first.
    """

    path: str
    title: str
    description: str
    body: str
    crumbs: tuple[tuple[str, str], ...] = ()
    searched: Literal["all", "lead", "no"] = "all"
    found_by: tuple[str, ...] = ()


def esc(text: str) -> str:
    """Text for an element or a quoted attribute, on one line: a blank line would end an HTML block of markdown."""
    return html.escape(" ".join(_CONTROL.sub("\ufffd", text).split()), quote=True)


def prose(text: str) -> str:
    """Sentences, in which `words` in backticks are code."""
    return _SPAN.sub(r"<code>\1</code>", esc(text))


def block(text: str) -> str:
    """Lines as they are printed or pasted. An empty line is written as a reference, since markdown ends an HTML block at one."""
    lines = html.escape(_CONTROL.sub("\ufffd", text), quote=True).splitlines()
    return "<pre><code>" + "&#10;".join(lines) + "</code></pre>"


def slug(text: str) -> str:
    """A name for an address: `RX 6700 XT` becomes `rx-6700-xt`."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-")


def heading(level: int, text: str, anchor: str = "") -> str:
    """A markdown heading of plain text."""
    words = _SPECIAL.sub(r"\\\1", html.escape(" ".join(_CONTROL.sub("\ufffd", text).split()), quote=False)).replace('"', "&quot;")
    return f"{'#' * level} {words} {{#{anchor or slug(text)}}}"


def link(there: str, text: str) -> str:
    """A link inside the site; `text` is HTML."""
    return f'<a href="site:{there}">{text}</a>'


def outside(address: str, text: str) -> str:
    """A link to another site; `text` is HTML."""
    return f'<a href="{html.escape(address)}">{text}</a>'


def wrong(entry: str) -> str:
    """The link to the issue form, with the entry filled in."""
    return outside(f"{REPOSITORY}/issues/new?{urlencode({'template': FORM, 'entry': entry}, quote_via=quote)}", "wrong?")


def items(lines: Iterable[str], *, searched: bool = True) -> str:
    """A list of HTML lines; empty when there are none."""
    body = "".join(f"<li>{line}</li>" for line in lines)
    return f"<ul{'' if searched else ' data-search-exclude'}>{body}</ul>" if body else ""


def table(columns: Iterable[str], rows: Iterable[str], caption: str, kind: str = "claims") -> str:
    """A table from rows that are already `<tr>`; empty when there are none."""
    body = "".join(rows)
    head = "".join(f'<th scope="col">{esc(name)}</th>' for name in columns)
    if not body:
        return ""
    return f'<table class="{kind}"><caption>{esc(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def written(page: Page, known: Container[str]) -> str:
    """The page as a markdown file. Raises ValueError for a link to a page that does not exist."""

    def relative(found: re.Match[str]) -> str:
        there, anchor = found[1], found[2] or ""
        if there not in known:
            raise ValueError(f"{page.path}: link to {there}, which is no page")
        road = posixpath.relpath(there or ".", page.path or ".")
        return f'"{"" if road == "." and anchor else road + "/"}{anchor}"'

    front: dict[str, Any] = {"title": esc(page.title), "description": esc(page.description), "crumbs": page.crumbs}
    front["hide"] = ["navigation"] if "\n## " in page.body else ["navigation", "toc"]
    if page.found_by:
        front["tags"] = [esc(words) for words in page.found_by]
    if page.searched == "no":
        front["search"] = {"exclude": True}
    body = _SITE.sub(relative, page.body if page.searched == "all" else page.body.replace(" data-search-exclude", ""))
    return f"---\n{json.dumps(front)}\n---\n\n{heading(1, page.title, 'top')}\n\n{body}\n"
