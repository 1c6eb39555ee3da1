"""A page: a title, sections of sentences and commands, and tables. The one renderer of what `explain` and `matrix` print."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import click
import msgspec

from rocm_doctor.matrix.tables import Table
from rocm_doctor.model import Command, Verdict
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.table import grid, markdown

MOST = 40
"""Lines of a page without its tables."""
_FIRST = 6
"""Items of a long list that a short page shows."""
_LABEL = 10


class Section(NamedTuple):
    """Sentences and commands under a label. `list`: a long list, of which a short page shows the first."""

    label: str
    lines: Sequence[str | Command]
    list: bool = False


class Page(NamedTuple):
    """`tables`: all that is known, which a short page leaves out. `mark`, `state`: the word above the title in HTML, and its colour."""

    title: str
    sections: tuple[Section, ...] = ()
    tables: tuple[Table, ...] = ()
    mark: str = "rocm-doctor"
    state: Verdict | Literal[""] = ""


def render(form: str, page: Page, look: RenderOptions) -> str:
    """The page in a format: text, json, markdown or html."""
    return _FORMS[form](page, look)


def _text(page: Page, look: RenderOptions) -> str:
    shown = [
        _Shown(one, len(one.lines) if look.verbose or not one.list else min(_FIRST, len(one.lines)))
        for one in page.sections
        if one.lines
    ]
    titles = textwrap.wrap(page.title, look.width)
    while not look.verbose and len(titles) + sum(len(one.rows(look.width)) for one in shown) > MOST:
        longest = max((one for one in shown if one.section.list and one.count > 1), key=lambda one: one.count, default=None)
        if longest is None:
            break
        longest.count -= 1
    parts = [*(click.style(line, bold=True) for line in titles), *(row for one in shown for row in one.rows(look.width))]
    parts += [f"\n{click.style(table.title, bold=True)}\n{grid(table, look.width)}" for table in page.tables]
    return "\n".join(parts) + "\n"


@dataclass
class _Shown:
    """The first `count` items of a section."""

    section: Section
    count: int

    def rows(self, width: int) -> list[str]:
        """Its lines, the label before the first; how many items are left out, in the last."""
        left = len(self.section.lines) - self.count
        items = [*self.section.lines[: self.count], *([f"{left} more with -v"] if left else [])]
        rows = [line for item in items for line in _wrapped(item, width)]
        return [click.style(f"  {self.section.label if n == 0 else '':<{_LABEL}}", dim=True) + row for n, row in enumerate(rows)]


def _wrapped(line: str | Command, width: int) -> list[str]:
    """A sentence in lines; a command is one line, whatever its length."""
    if isinstance(line, Command):
        return [click.style(f"$ {line.text}", bold=True)]
    return textwrap.wrap(line, width - _LABEL - 2, break_on_hyphens=False, break_long_words=False) or [""]


def _markdown(page: Page, look: RenderOptions) -> str:
    from rocm_doctor.reports.markup import block, prose

    parts = [f"# {prose(page.title)}"] if page.title else []
    for one in page.sections:
        parts.append(f"**{one.label}**" if one.label else "")
        parts += [prose(line) if isinstance(line, str) else "\n".join(block([line])).strip() for line in one.lines]
    parts += [f"## {prose(table.title)}\n\n{markdown(table.lines, table.columns)}" for table in page.tables]
    return "\n\n".join(filter(None, parts)) + "\n"


def _json(page: Page, look: RenderOptions) -> str:
    document = {
        "title": page.title,
        "sections": {one.label: [line if isinstance(line, str) else line.text for line in one.lines] for one in page.sections},
        "tables": [
            {"title": table.title, "about": {line[0]: line[1] for line in table.lines}}
            if set(table.columns) == {""}
            else {"title": table.title, "lines": [dict(zip(table.columns, line)) for line in table.lines]}
            for table in page.tables
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _html(page: Page, look: RenderOptions) -> str:
    from rocm_doctor.reports import html

    body = [html.header(page.state, page.mark, page.title)]
    for one in page.sections:
        items = "".join(html.command(line) if isinstance(line, Command) else f"<p>{html.prose(line)}</p>" for line in one.lines)
        body.append(f"<section>{f'<h2>{html.escape(one.label)}</h2>' if one.label else ''}{items}</section>")
    body += [
        html.table(table.title, table.columns, [list(map(html.escape, line)) for line in table.lines]) for table in page.tables
    ]
    return html.document(f"rocm-doctor: {page.title}", "\n".join(body))


_FORMS: dict[str, Callable[[Page, RenderOptions], str]] = {"text": _text, "json": _json, "markdown": _markdown, "html": _html}
FORMS = tuple(_FORMS)
