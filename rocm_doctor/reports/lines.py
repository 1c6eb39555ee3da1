"""Lines of text in a given width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator


def wrap(line: str, width: int) -> Iterator[str]:
    """A line in rows of at most `width` columns; the rows after the first hang below its words, behind a label or a figure."""
    if len(line) <= width:
        yield line
        return
    found = re.match(r" *(?:[^ ]+ ?[^ ]* {2,})?", line)
    hang = " " * (found.end() if found else 0)
    yield from textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
