"""The judgement for people, the worst first: text, and an HTML page with a heat map, one cell for each node."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.fleet.formats import STATES
from rocm_doctor.fleet.judge import Judged
from rocm_doctor.fleet.types import Folded, Group, Judgement, Slow, Unmet
from rocm_doctor.reports.html import document, escape, header, table

MOST_LINES = 40
"""Lines of a part of the text; JSON has all of them."""
MOST_ROWS = 500
"""Rows of a table of the page; JSON has all of them."""
LONGEST = 160
"""Characters of a node set that are shown; `--format nodeset` and JSON have all."""
_WORDS = {
    "problems": "with problems", "slow": "slow", "undetermined": "undetermined", "silent": "without a report", "measured": "measured only",
    "ready": "ready",
}  # fmt: skip
_MAP = """
.map { display: flex; flex-wrap: wrap; gap: 2px; } .map i { width: .8rem; height: .8rem; border-radius: 2px; background: var(--line); }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .3rem 0 1rem; background: var(--line); }
i.ready { background: var(--ready) !important; } i.problems { background: var(--error) !important; }
td, th { min-width: 4.5rem; } td:first-child { min-width: 11rem; }
i.silent { background: var(--dim) !important; }
i.slow { background: var(--warning) !important; } i.undetermined { background: var(--note) !important; }
"""


def shortened(nodes: str) -> str:
    """The beginning of a long node set, cut between two nodes."""
    return nodes if len(nodes) <= LONGEST else nodes[:LONGEST].rpartition(",")[0] + ",…"


class Part(NamedTuple):
    """A list under a title."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def parts(summary: Judgement) -> Iterator[Part]:
    """The parts that have an entry, the worst first."""
    lists: tuple[tuple[str, str, Iterable[tuple[str, ...]]], ...] = (
        ("Stragglers", "Node|Figure|Value|Median|Worse|z", map(_slow, summary.stragglers)),
        ("Values that go with sick nodes", "Fact|Value|Sick with it|Nodes with it|Sick in all|p", [
            (o.fact, o.value, str(o.sick_with), str(o.with_), f"{o.sick} of {o.nodes}", f"{o.p:.1g}") for o in summary.associations]),
        ("Deviations, the rarest first", "Fact|Value|Most have|Nodes|Which", [
            (o.fact + (f" on GPU {o.gpus[0].index}" if len(o.gpus) == 1 else ""), o.value, o.majority, str(o.count), o.nodes)
            for o in summary.deviations]),
        ("Changes since the earlier snapshot", "Fact|Before|Now|Nodes|Which", [
            (o.fact, o.before, o.now, str(o.count), o.nodes) for o in summary.changes]),
        ("Reported twice", "Why|Nodes|Which", [(o.why, str(o.count), o.nodes) for o in summary.twice]),
        ("Not judged", "Document|Why", summary.refused),
    )  # fmt: skip
    made = (Part(title, tuple(columns.split("|")), list(rows)) for title, columns, rows in lists)
    return (part for part in made if part.rows)


def _slow(one: Slow) -> tuple[str, ...]:
    worse = abs(one.value - one.median) / abs(one.median or 1)
    node = one.node if one.gpu is None else f"{one.node} GPU {one.gpu}"
    return node, one.figure, f"{one.value:g} {one.unit}", f"{one.median:g}", f"{worse:.0%}", f"{one.z:g}"


def render_text(judged: Judged) -> str:
    """Lines of at most 100 columns, but for node sets, which are cut."""
    return "\n".join(_paragraphs(judged)) + "\n"


def _paragraphs(judged: Judged) -> Iterator[str]:
    summary = judged.summary
    causes = [cause for cause in summary.verdicts if cause.verdict == "problems"]
    groups: tuple[tuple[str, Folded | Unmet | Group], ...] = (
        *((f"✗ {cause.title or 'problems'}" + (f" [{cause.row or cause.id}]" if cause.id else ""), cause) for cause in causes),
        *((f"✗ policy asks for {unmet.demand}; found {unmet.found}", unmet) for unmet in summary.unmet),
        *(("? undetermined", cause) for cause in summary.verdicts if cause.verdict == "undetermined"),
        *((f"? no report: {group.why}", group) for group in summary.silent),
    )
    for title, one in groups:
        yield f"{title}\n    {_nodes(one.count, one.nodes)}"
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
    yield from (f"  {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  and {len(lines) - MOST_LINES} more: --format json has all"


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


def render_html(judged: Judged) -> str:
    """A whole document, without a script or an outside resource."""
    counts = Counter(row.state for row in judged.rows)
    title = f"{len(judged.rows)} nodes: " + ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    verdict = "problems" if counts["problems"] else "ready" if counts["ready"] == len(judged.rows) else "undetermined"
    body = "\n".join(_body(judged, title, verdict))
    return document(f"rocm-doctor: {title}", body, _MAP)


def _body(judged: Judged, title: str, verdict: str) -> Iterator[str]:
    summary = judged.summary
    yield header(verdict, "Fleet", title, f"rocm-doctor {summary.tool_version}")
    yield "<main>"
    key = "".join(f'<i class="{state}"></i>{state}' for state in STATES)
    yield f'<section><h2>Nodes</h2><p class="key dim">{key}</p><div class="map">'
    for row in judged.rows:
        words = escape("; ".join((f"{row.host}: {row.state}", *row.reasons[:3])))
        yield f'<i class="{row.state}" title="{words}" aria-label="{words}"></i>'
    yield "</div></section>"
    yield from _table(
        "Causes",
        ("Verdict", "Cause", "Nodes", "Which"),
        ((one.verdict, one.title or one.id or "none", str(one.count), one.nodes) for one in summary.verdicts),
    )
    yield from _table(
        "Policy", ("Demand", "Found", "Nodes", "Which"), ((o.demand, o.found, str(o.count), o.nodes) for o in summary.unmet)
    )
    yield from _table("Without a report", ("Why", "Nodes", "Which"), ((o.why, str(o.count), o.nodes) for o in summary.silent))
    for part in parts(summary):
        yield from _table(*part)
    yield "</main>"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    found = list(rows)
    yield table(f"{title} ({len(found)})", columns, (list(map(_cell, row)) for row in found[:MOST_ROWS]))


def _cell(text: str) -> str:
    """The text, its rest folded away where it is long: the names of five hundred nodes."""
    short = shortened(text)
    return escape(text) if short == text else f"<details><summary>{escape(short)}</summary>{escape(text)}</details>"
