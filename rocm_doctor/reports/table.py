"""Tables for the terminal and for Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest


def simple(lines: Sequence[Sequence[str]], columns: Sequence[str], widths: Sequence[int], *, right: bool = False) -> str:
    """Columns of these widths under their names; longer cells wrap. `right`: all but the first are aligned to the right."""
    parts = [
        [textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(line, widths)]
        for line in (columns, *lines)
    ]
    taken = [max(len(piece) for row in parts for piece in row[n]) for n in range(len(columns))]
    rows = ["  ".join(_aligned(piece, width, right and n > 0) for n, (piece, width) in enumerate(zip(pieces, taken))).rstrip()
            for row in parts for pieces in zip_longest(*row, fillvalue="")]  # fmt: skip
    under = sum(1 for _ in zip_longest(*parts[0]))
    return "\n".join([*rows[:under], "  ".join("-" * width for width in taken), *rows[under:]])


def wrap(line: str, width: int) -> Iterator[str]:
    """A line in rows of at most `width` columns; the rows after the first hang below its words, behind a label or a figure."""
    if len(line) <= width:
        yield line
        return
    found = re.match(r" *(?:[^ ]+ ?[^ ]* {2,})?", line)
    hang = " " * (found.end() if found else 0)
    yield from textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def markdown(lines: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """A table of GitHub's Markdown, padded so that its source can be read."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in (columns, *lines)]
    widths = [max(3, *(len(row[n]) for row in cells)) for n in range(len(columns))]
    rows = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


def _aligned(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
