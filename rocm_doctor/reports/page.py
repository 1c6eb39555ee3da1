"""A page: a title, and sections of sentences, statements and commands. What `explain` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Union

import click
import msgspec

from rocm_doctor.model import Command, Verdict
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.lines import wrap_words

MOST = 40
"""Lines of a short page."""
_LABEL = 10


class CitedLine(NamedTuple):
    """A statement with its source, which a whole page shows."""

    words: str
    source: str


Line = Union[str, Command, CitedLine]


class Section(NamedTuple):
    """Lines under a label. `short`: how many of them a short page shows at most; None: all."""

    label: str
    lines: Sequence[Line]
    short: int | None = None


class Page(NamedTuple):
    """A title and its sections. `mark`, `state`: what the site shows above the title, and its colour."""

    title: str
    sections: tuple[Section, ...] = ()
    mark: str = ""
    state: Verdict | Literal[""] = ""


def render(form: str, page: Page, look: RenderOptions) -> str:
    """The page as text or as JSON."""
    return _json(page) if form == "json" else _text(page, look)


def _text(page: Page, look: RenderOptions) -> str:
    shown = [
        _Shown(
            section, len(section.lines) if look.verbose or section.short is None else min(section.short, len(section.lines)), look
        )
        for section in page.sections
        if section.lines and (look.verbose or section.short != 0)
    ]
    if not look.verbose and any(
        section.short == 0 or isinstance(line, CitedLine) for section in page.sections for line in section.lines
    ):
        shown.append(_Shown(Section("-v", ["all of it, with the source of each statement"]), 1, look))
    titles = wrap_words(page.title, look.width)
    while not look.verbose and len(titles) + sum(len(one.rows()) for one in shown) > MOST:
        longest = max((one for one in shown if one.section.short and one.count > 1), key=lambda one: one.count, default=None)
        if longest is None:
            break
        longest.count -= 1
    parts = [*(click.style(line, bold=True) for line in titles), *(row for one in shown for row in one.rows())]
    return "\n".join(parts) + "\n"


@dataclass
class _Shown:
    """The first `count` lines of a section."""

    section: Section
    count: int
    look: RenderOptions

    def rows(self) -> list[str]:
        """Its lines, the label before the first; how many are left out, in the last."""
        left = len(self.section.lines) - self.count
        items = [*self.section.lines[: self.count], *([f"{left} more with -v"] if left else [])]
        rows = [row for item in items for row in wrap_line(item, self.look)]
        return [click.style(f"  {self.section.label if n == 0 else '':<{_LABEL}}", dim=True) + row for n, row in enumerate(rows)]


def wrap_line(line: Line, look: RenderOptions) -> list[str]:
    """The rows of `line`, without indentation. A command is one row, bold, with `$ ` before it, whatever its length. Other text
    is wrapped to the width less the label's column; no word is broken. With `look.verbose` a CitedLine has its source as a last
    row."""
    if isinstance(line, Command):
        return [click.style(f"$ {line.text}", bold=True)]
    words = line if isinstance(line, str) else line.words
    rows = wrap_words(words, look.width - _LABEL - 2) or [""]
    return [*rows, f"  {line.source}"] if isinstance(line, CitedLine) and look.verbose else rows


def _json(page: Page) -> str:
    sections = [{"label": section.label, "lines": list(map(_plain, section.lines))} for section in page.sections if section.lines]
    return msgspec.json.format(msgspec.json.encode({"title": page.title, "sections": sections}), indent=2).decode() + "\n"


def _plain(line: Line) -> dict[str, str]:
    """A line with its kind: words, with their source where there is one, or a command."""
    if isinstance(line, Command):
        return {"command": line.text}
    return {"words": line} if isinstance(line, str) else line._asdict()
