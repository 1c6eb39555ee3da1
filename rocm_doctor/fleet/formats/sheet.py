"""CSV: a line for each node."""

from __future__ import annotations

import csv
import io

from rocm_doctor.fleet.judge import Judged


def render(judged: Judged) -> str:
    """node, state, reasons. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("node", "state", "reasons"))
    for row in judged.rows:
        reasons = "; ".join(row.reasons)
        writer.writerow((row.host, row.state, f"'{reasons}" if reasons[:1] in "=+-@\t" and reasons else reasons))
    return out.getvalue()
