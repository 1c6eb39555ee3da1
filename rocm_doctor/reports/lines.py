"""Lines of text in a given width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator


def wrap_words(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Rows of at most `width` columns, `first` before the first row and `rest` before the others. A longer word is not broken."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def wrap(line: str, width: int) -> Iterator[str]:
    """A line in rows of at most `width` columns; the rows after the first hang below its words, behind a label or a figure."""
    if len(line) <= width:
        yield line
        return
    found = re.match(r" *(?:[^ ]+ ?[^ ]* {2,})?", line)
    yield from wrap_words(line, width, rest=" " * (found.end() if found else 0))
