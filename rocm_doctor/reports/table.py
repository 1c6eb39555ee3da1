"""Tables for the terminal and for Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rocm_doctor.matrix.tables import Table

_NARROW = 16
"""A column of sentences narrower than this breaks words: the lines are then shown one below the other."""


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


def markdown(lines: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """A table of GitHub's Markdown, padded so that its source can be read."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in (columns, *lines)]
    widths = [max(3, *(len(row[n]) for row in cells)) for n in range(len(columns))]
    rows = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


def _aligned(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def grid(table: Table, width: int) -> str:
    """The table in that width: columns wider than their share are wrapped; where none fits, one record below the other."""
    longest = [max([len(c), *(len(line[n]) for line in table.lines)]) for n, c in enumerate(table.columns)]
    if not table.lines:
        return "  nothing known"
    shares = _shares(longest, width)
    if any(share < min(wanted, _NARROW) for share, wanted in zip(shares, longest)) or sum(shares) + 2 * len(shares) > width:
        return "\n\n".join("\n".join(_record(table.columns, line, width)) for line in table.lines)
    return simple(table.lines, table.columns, shares)


def _record(names: Sequence[str], line: Sequence[str], width: int) -> Iterator[str]:
    """One line of a table as `column  cell` rows, without the empty cells."""
    label = max(map(len, names)) + 2
    for name, cell in zip(names, line):
        if cell:
            yield from textwrap.wrap(
                cell, width, initial_indent=f"{name:<{label}}", subsequent_indent=" " * label,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def _shares(longest: Sequence[int], width: int) -> list[int]:
    """Columns that fit an even share keep their size; the others divide what is left."""
    left, open_columns = width - 2 * len(longest), sorted(range(len(longest)), key=lambda n: longest[n])
    shares = [0] * len(longest)
    for taken, number in enumerate(open_columns):
        shares[number] = max(8, min(longest[number], left // (len(longest) - taken)))
        left -= shares[number]
    return shares
