"""The formats of a judgement on a fleet: for people in pages.py, for programs here: JSON, CSV, lists of nodes, and Prometheus' text."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.reports.neutral import clean, defuse

if TYPE_CHECKING:
    from rocm_doctor.fleet.judge import Judged

FORMATS = ("text", "json", "html", "csv", "prometheus", "nodeset", "pass", "fail")
STATES = ("problems", "slow", "undetermined", "silent", "measured", "ready")
PASS = ("ready", "measured")
"""States of nodes to train on."""


def render(format_: str, judged: Judged, states: Collection[str] = ("problems",)) -> str:
    """The judgement in that format, without control sequences and CI commands. `states`: of the nodes of a node set."""
    from rocm_doctor.fleet import nodeset, pages

    safe = judged._replace(summary=clean(judged.summary), rows=[row._replace(reasons=clean(row.reasons)) for row in judged.rows])
    if format_ == "nodeset":
        return nodeset.fold(row.host for row in judged.rows if row.state in states) + "\n"
    renderers = {
        "text": pages.render_text, "json": _json, "html": pages.render_html, "csv": _csv, "prometheus": _prometheus,
        "pass": _pass, "fail": _fail,
    }  # fmt: skip
    return defuse(renderers[format_](safe))


def _json(judged: Judged) -> str:
    """One indented document that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(judged.summary), indent=1).decode() + "\n"


def _csv(judged: Judged) -> str:
    """node, state, reasons. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("node", "state", "reasons"))
    for row in judged.rows:
        reasons = "; ".join(row.reasons)
        writer.writerow((row.host, row.state, f"'{reasons}" if reasons[:1] in "=+-@\t" and reasons else reasons))
    return out.getvalue()


def _pass(judged: Judged) -> str:
    """A line for each node to train on."""
    return "".join(f"{row.host}\n" for row in judged.rows if row.state in PASS)


def _fail(judged: Judged) -> str:
    """A line for each other node, with state and reasons."""
    return "".join(
        "\t".join((row.host, row.state, "; ".join(row.reasons))) + "\n" for row in judged.rows if row.state not in PASS
    )


def _prometheus(judged: Judged) -> str:
    """Metrics that `promtool check metrics` accepts, for node_exporter's textfile collector; each series is a node."""
    return "".join(f"{line}\n" for line in _metrics(judged))


def _metrics(judged: Judged) -> Iterator[str]:
    from rocm_doctor.fleet.nodeset import expand

    summary = judged.summary
    yield from _head("rocm_doctor_nodes", "Nodes by state.")
    for state in STATES:
        yield f'rocm_doctor_nodes{{state="{state}"}} {sum(row.state == state for row in judged.rows)}'
    yield from _head("rocm_doctor_ready", "1 if the node is ready to train, else 0.")
    for row in judged.rows:
        yield f"rocm_doctor_ready{_labels(node=row.host, state=row.state)} {int(row.state == 'ready')}"
    yield from _head("rocm_doctor_finding", "A root cause on a node.")
    for one in summary.verdicts:
        for host in expand(one.nodes) if one.id or one.row else ():
            yield f"rocm_doctor_finding{_labels(node=host, id=one.id, row=one.row, severity=one.severity)} 1"
    yield from _head("rocm_doctor_deviations", "Facts in which a node differs from most nodes.")
    counts: dict[str, int] = {row.host: 0 for row in judged.rows if row.state != "silent"}
    for deviation in summary.deviations:
        for host in expand(deviation.nodes):
            counts[host] += 1
    for host, count in counts.items():
        yield f"rocm_doctor_deviations{_labels(node=host)} {count}"
    yield from _head("rocm_doctor_straggler_zscore", "Robust standard deviations by which a figure is on the slow side.")
    for slow in summary.stragglers:
        gpu = "" if slow.gpu is None else str(slow.gpu)
        yield f"rocm_doctor_straggler_zscore{_labels(node=slow.node, gpu=gpu, figure=slow.figure)} {slow.z:g}"


def _head(name: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} gauge"


def _labels(**labels: str) -> str:
    def quoted(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{quoted(value)}"' for name, value in labels.items()) + "}"
