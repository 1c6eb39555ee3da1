"""The formats of a judgement on a fleet: text for people; JSON, lists of nodes, and Prometheus' text for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.reports.neutral import clean, defuse

if TYPE_CHECKING:
    from rocm_doctor.fleet.judge import FleetResult
    from rocm_doctor.fleet.types import Judgement, Straggler

FORMATS = ("text", "json", "prometheus", "pass", "fail")
PASS = ("ready", "measured")
"""States of nodes to train on."""
MOST_LINES = 40
"""Lines of a part of the text; JSON has all of them."""
LONGEST = 160
"""Characters of a node set that are shown; JSON has all."""


def render(format_: str, judged: FleetResult) -> str:
    """The judgement in that format, without control sequences and CI commands."""
    safe = judged._replace(summary=clean(judged.summary), rows=[row._replace(reasons=clean(row.reasons)) for row in judged.rows])
    return defuse("".join(f"{line}\n" for line in _RENDERERS[format_](safe)))


def _json(judged: FleetResult) -> Iterator[str]:
    """One indented document."""
    yield msgspec.json.format(msgspec.json.encode(judged.summary), indent=1).decode()


def _pass(judged: FleetResult) -> Iterator[str]:
    """A line for each node to train on."""
    return (row.host for row in judged.rows if row.state in PASS)


def _fail(judged: FleetResult) -> Iterator[str]:
    """A line for each other node, with state and reasons."""
    bad = (row for row in judged.rows if row.state not in PASS)
    return ("\t".join((row.host, row.state, " ".join("; ".join(row.reasons).split()))) for row in bad)


def _text(judged: FleetResult) -> Iterator[str]:
    """The worst first; long node sets are cut."""
    summary = judged.summary
    for group in summary.groups:
        words = {"problems": f"✗ {group.why}", "undetermined": "? undetermined", "silent": f"? no report: {group.why}"}.get(
            group.state
        )
        if words:
            yield words + (f" [{group.row or group.id}]" if group.id else "")
            yield f"    {_count(group.count, group.nodes)}"
    yield from _part("Stragglers", [_straggler(straggler) for straggler in summary.stragglers])
    yield from _part("Deviations, the rarest first", list(_deviations(summary)))
    yield from _part("Not judged", [f"{place}: {_short(why)}" for place, why in summary.refused])
    yield from _part("Not compared: different on every node", textwrap.wrap(", ".join(summary.own), 96))
    from rocm_doctor.fleet.judge import STATES

    counts = Counter(row.state for row in judged.rows)
    words = ", ".join(f"{counts[state]} {word}" for state, word in STATES.items() if counts[state])
    yield f"\n{len(judged.rows)} nodes: {words}" if judged.rows else "no nodes"


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
    yield from (f"  {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  and {len(lines) - MOST_LINES} more: --format json has all"


def _straggler(straggler: Straggler) -> str:
    node = straggler.node if straggler.gpu is None else f"{straggler.node} GPU {straggler.gpu}"
    worse = abs(straggler.value - straggler.median) / abs(straggler.median or 1)
    return f"{node}: {straggler.figure} {straggler.value:g} {straggler.unit}, median {straggler.median:g}, {worse:.0%} worse, z {straggler.z:g}"


def _deviations(summary: Judgement) -> Iterator[str]:
    """Those of the same nodes together: most often they have one cause."""
    groups: dict[tuple[int, int, str], list[str]] = {}
    for deviation in summary.deviations:
        where = f" on GPU {next(iter(deviation.gpus))}" if len(deviation.gpus) == 1 else ""
        line = f"{deviation.fact}{where}: {_short(deviation.value)}, not {_short(deviation.majority)}"
        groups.setdefault((deviation.count, deviation.sick, deviation.nodes), []).append(line)
    for (count, sick, nodes), lines in groups.items():
        yield _count(count, nodes, sick)
        yield from (f"    {line}" for line in lines[:12])
        if len(lines) > 12:
            yield f"    and {len(lines) - 12} more"


def _count(count: int, nodes: str, sick: int = 0) -> str:
    """The number of nodes, and the beginning of their node set, cut between two nodes."""
    words = f"{count} node{'s' * (count != 1)}" + (f", {sick} sick: " if sick else ": ")
    return words + (nodes if len(nodes) <= LONGEST else nodes[:LONGEST].rpartition(",")[0] + ",…")


def _short(value: str) -> str:
    return textwrap.shorten(value, 80, placeholder=" …") or "(empty)"


def _prometheus(judged: FleetResult) -> Iterator[str]:
    """Metrics that `promtool check metrics` accepts, for node_exporter's textfile collector; each series is a node."""
    from rocm_doctor.fleet.nodeset import expand

    summary = judged.summary
    yield from _head("rocm_doctor_ready", "1 if the node is ready to train, else 0.")
    for row in judged.rows:
        yield f"rocm_doctor_ready{_labels(node=row.host, state=row.state)} {int(row.state == 'ready')}"
    yield from _head("rocm_doctor_finding", "A root cause on a node.")
    for group in summary.groups:
        for host in expand(group.nodes) if group.id or group.row else ():
            yield f"rocm_doctor_finding{_labels(node=host, id=group.id, row=group.row, severity=group.severity)} 1"
    yield from _head("rocm_doctor_deviations", "Facts in which a node differs from most nodes.")
    counts = Counter({row.host: 0 for row in judged.rows if row.state != "silent"})
    for deviation in summary.deviations:
        counts.update(expand(deviation.nodes))
    for host, count in counts.items():
        yield f"rocm_doctor_deviations{_labels(node=host)} {count}"
    yield from _head("rocm_doctor_straggler_zscore", "Robust standard deviations by which a figure is on the slow side.")
    for slow in summary.stragglers:
        gpu = "" if slow.gpu is None else str(slow.gpu)
        yield f"rocm_doctor_straggler_zscore{_labels(node=slow.node, gpu=gpu, figure=slow.figure)} {slow.z:g}"


def _head(name: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} gauge"


def _labels(**labels: str) -> str:
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{value.translate(escapes)}"' for name, value in labels.items()) + "}"


_RENDERERS = {"text": _text, "json": _json, "prometheus": _prometheus, "pass": _pass, "fail": _fail}
