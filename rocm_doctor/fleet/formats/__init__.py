"""Renderers of a judgement on a fleet: each is a module with a function `render(judged) -> str`."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import TYPE_CHECKING

from rocm_doctor.fleet.nodeset import fold
from rocm_doctor.reports.neutral import cleaned, defused

if TYPE_CHECKING:
    from rocm_doctor.fleet.judge import Judged

_RENDERERS = {"text": "text", "json": "plain", "html": "page", "csv": "sheet", "prometheus": "metrics"}
LISTS = ("nodeset", "pass", "fail")
FORMATS = (*_RENDERERS, *LISTS)
STATES = ("problems", "slow", "undetermined", "silent", "measured", "ready")


def render(format_: str, judged: Judged) -> str:
    """The judgement in that format, without control sequences and CI commands. Raises KeyError for an unknown format."""
    module = importlib.import_module(f"rocm_doctor.fleet.formats.{_RENDERERS[format_]}")
    safe = judged._replace(
        summary=cleaned(judged.summary), rows=[row._replace(reasons=cleaned(row.reasons)) for row in judged.rows]
    )
    text: str = module.render(safe)
    return defused(text)


PASS = ("ready", "measured")
"""States of nodes to train on."""


def listed(format_: str, judged: Judged, states: Collection[str]) -> str:
    """`nodeset`: the nodes in those states. `pass`: a line for each node to train on; `fail`: for each other, with state and reasons."""
    if format_ == "nodeset":
        return fold(row.host for row in judged.rows if row.state in states) + "\n"
    if format_ == "pass":
        return "".join(f"{row.host}\n" for row in judged.rows if row.state in PASS)
    lines = ("\t".join((row.host, row.state, "; ".join(cleaned(row.reasons)))) for row in judged.rows if row.state not in PASS)
    return defused("".join(f"{line}\n" for line in lines))


LONGEST = 160
"""Characters of a node set that are shown to people; `--format nodeset` and JSON have all."""


def shortened(nodes: str) -> str:
    """The beginning of a long node set, cut between two nodes."""
    return nodes if len(nodes) <= LONGEST else nodes[:LONGEST].rpartition(",")[0] + ",…"
