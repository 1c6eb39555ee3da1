"""An HTML overview with a heat map: one cell for each node. No script, no outside resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.fleet.formats import STATES, shortened
from rocm_doctor.fleet.formats.parts import parts
from rocm_doctor.fleet.judge import Judged
from rocm_doctor.reports.html import document, escape, header, table

_MAP = """
.map { display: flex; flex-wrap: wrap; gap: 2px; } .map i { width: .8rem; height: .8rem; border-radius: 2px; background: var(--line); }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .3rem 0 1rem; background: var(--line); }
i.ready { background: var(--ready) !important; } i.problems { background: var(--error) !important; }
td, th { min-width: 4.5rem; } td:first-child { min-width: 11rem; }
i.silent { background: var(--dim) !important; }
i.slow { background: var(--warning) !important; } i.undetermined { background: var(--note) !important; }
"""
MOST = 500
"""Lines of a table; JSON has all of them."""


def render(judged: Judged) -> str:
    """A whole document."""
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
    yield table(f"{title} ({len(found)})", columns, (list(map(_cell, row)) for row in found[:MOST]))


def _cell(text: str) -> str:
    """The text, its rest folded away where it is long: the names of five hundred nodes."""
    short = shortened(text)
    return escape(text) if short == text else f"<details><summary>{escape(short)}</summary>{escape(text)}</details>"
