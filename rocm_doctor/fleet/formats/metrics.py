"""Prometheus' text format, for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.formats import STATES
from rocm_doctor.fleet.judge import Judged


def render(judged: Judged) -> str:
    """Metrics that `promtool check metrics` accepts; each series is a node."""
    return "".join(f"{line}\n" for line in _lines(judged))


def _lines(judged: Judged) -> Iterator[str]:
    summary = judged.summary
    yield from _head("rocm_doctor_nodes", "Nodes by state.")
    for state in STATES:
        yield f'rocm_doctor_nodes{{state="{state}"}} {sum(row.state == state for row in judged.rows)}'
    yield from _head("rocm_doctor_ready", "1 if the node is ready to train, else 0.")
    for row in judged.rows:
        yield f"rocm_doctor_ready{_labels(node=row.host, state=row.state)} {int(row.state == 'ready')}"
    yield from _head("rocm_doctor_finding", "A root cause on a node.")
    for one in summary.verdicts:
        for host in nodeset.expand(one.nodes) if one.id or one.row else ():
            yield f"rocm_doctor_finding{_labels(node=host, id=one.id, row=one.row, severity=one.severity)} 1"
    yield from _head("rocm_doctor_deviations", "Facts in which a node differs from most nodes.")
    counts: dict[str, int] = {row.host: 0 for row in judged.rows if row.state != "silent"}
    for deviation in summary.deviations:
        for host in nodeset.expand(deviation.nodes):
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
