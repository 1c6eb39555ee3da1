"""Renderers of a judgement on a fleet."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rocm_doctor.reports.neutral import cleaned, defused

if TYPE_CHECKING:
    from rocm_doctor.fleet.judge import Judged

FORMATS = ("text", "json", "html", "csv", "prometheus", "nodeset", "pass", "fail")
STATES = ("problems", "slow", "undetermined", "silent", "measured", "ready")


def render(format_: str, judged: Judged, states: Collection[str] = ("problems",)) -> str:
    """The judgement in that format, without control sequences and CI commands. `states`: of the nodes of a node set."""
    from rocm_doctor.fleet.formats import metrics, page, plain, text

    safe = judged._replace(
        summary=cleaned(judged.summary), rows=[row._replace(reasons=cleaned(row.reasons)) for row in judged.rows]
    )
    if format_ == "nodeset":
        return plain.render_nodeset(safe, states)
    renderers = {
        "text": text.render, "json": plain.render_json, "html": page.render, "csv": plain.render_csv, "prometheus": metrics.render,
        "pass": plain.render_pass, "fail": plain.render_fail,
    }  # fmt: skip
    return defused(renderers[format_](safe))


LONGEST = 160
"""Characters of a node set that are shown to people; `--format nodeset` and JSON have all."""


def shortened(nodes: str) -> str:
    """The beginning of a long node set, cut between two nodes."""
    return nodes if len(nodes) <= LONGEST else nodes[:LONGEST].rpartition(",")[0] + ",…"
