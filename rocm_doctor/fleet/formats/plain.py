"""The judgement for programs: JSON, CSV, and lists of nodes."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection

import msgspec

from rocm_doctor.fleet.judge import Judged
from rocm_doctor.fleet.nodeset import fold

PASS = ("ready", "measured")
"""States of nodes to train on."""


def render_json(judged: Judged) -> str:
    """One indented document that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(judged.summary), indent=1).decode() + "\n"


def render_csv(judged: Judged) -> str:
    """node, state, reasons. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("node", "state", "reasons"))
    for row in judged.rows:
        reasons = "; ".join(row.reasons)
        writer.writerow((row.host, row.state, f"'{reasons}" if reasons[:1] in "=+-@\t" and reasons else reasons))
    return out.getvalue()


def render_nodeset(judged: Judged, states: Collection[str]) -> str:
    """The nodes in those states."""
    return fold(row.host for row in judged.rows if row.state in states) + "\n"


def render_pass(judged: Judged) -> str:
    """A line for each node to train on."""
    return "".join(f"{row.host}\n" for row in judged.rows if row.state in PASS)


def render_fail(judged: Judged) -> str:
    """A line for each other node, with state and reasons."""
    return "".join(
        "\t".join((row.host, row.state, "; ".join(row.reasons))) + "\n" for row in judged.rows if row.state not in PASS
    )
