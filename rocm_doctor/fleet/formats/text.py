"""The judgement for people, the worst first."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from rocm_doctor.fleet.formats import STATES, shortened
from rocm_doctor.fleet.formats.parts import Part, parts
from rocm_doctor.fleet.judge import Judged

MOST = 40
"""Lines of a part; JSON has all of them."""
_WORDS = {
    "problems": "with problems", "slow": "slow", "undetermined": "undetermined", "silent": "without a report", "measured": "measured only",
    "ready": "ready",
}  # fmt: skip


def render(judged: Judged) -> str:
    """Lines of at most 100 columns, but for node sets, which are cut."""
    return "\n".join(_all(judged)) + "\n"


def _all(judged: Judged) -> Iterator[str]:
    summary = judged.summary
    for one in summary.verdicts:
        if one.verdict == "problems":
            yield f"✗ {one.title or 'problems'}" + (f" [{one.row or one.id}]" if one.id else "")
            yield f"    {_nodes(one.count, one.nodes)}"
    for demand in summary.unmet:
        yield f"✗ policy asks for {demand.demand}; found {demand.found}"
        yield f"    {_nodes(demand.count, demand.nodes)}"
    for undetermined in (one for one in summary.verdicts if one.verdict == "undetermined"):
        yield f"? undetermined\n    {_nodes(undetermined.count, undetermined.nodes)}"
    for group in summary.silent:
        yield f"? no report: {group.why}\n    {_nodes(group.count, group.nodes)}"
    for part in parts(summary):
        yield from _part(part.title, list(_lines(part)))
    if summary.own:
        yield from _part("Not compared: different on every node", textwrap.wrap(", ".join(summary.own), 96))
    if summary.incomplete:
        yield "\nToo many different values: some were not compared."
    counts = Counter(row.state for row in judged.rows)
    said = ", ".join(f"{counts[state]} {_WORDS[state]}" for state in STATES if counts[state])
    yield f"\n{len(judged.rows)} nodes: {said}" if judged.rows else "no nodes"


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"\n{title}"
    yield from (f"  {line}" for line in lines[:MOST])
    if len(lines) > MOST:
        yield f"  and {len(lines) - MOST} more: --format json has all"


def _nodes(count: int | str, nodes: str) -> str:
    return f"{count} node{'s' * (str(count) != '1')}: {shortened(nodes)}"


def _lines(part: Part) -> Iterator[str]:
    """The rows; those of the same nodes together, under them: most often they have one cause."""
    which = part.columns[-2:] == ("Nodes", "Which")
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in part.rows:
        cells = row[:-2] if which else row
        rest = (f"{column.lower()} {_short(cell)}" for column, cell in zip(part.columns[1:], cells[1:]))
        groups.setdefault(row[-2:] if which else (), []).append(": ".join(filter(None, (cells[0], ", ".join(rest)))))
    for nodes, lines in groups.items():
        if not which:
            yield from lines
            continue
        yield _nodes(nodes[0], nodes[1])
        yield from (f"    {line}" for line in lines[:12])
        if len(lines) > 12:
            yield f"    and {len(lines) - 12} more"


def _short(value: str) -> str:
    return textwrap.shorten(value, 80, placeholder=" …") or "(empty)"
