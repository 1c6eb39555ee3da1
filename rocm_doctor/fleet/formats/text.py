"""The judgement for people, the worst first."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator

from rocm_doctor.fleet.formats import STATES, shortened
from rocm_doctor.fleet.judge import Judged
from rocm_doctor.fleet.types import Deviant, Judgement

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
    yield from _part("Stragglers", _slow(summary))
    yield from _part("Values that go with sick nodes", _associations(summary))
    yield from _part("Deviations, the rarest first", _deviations(summary))
    yield from _part("Changes since the earlier snapshot", _changes(summary))
    yield from _part("Reported twice", (f"{_nodes(one.count, one.nodes)}: {one.why}" for one in summary.twice))
    yield from _part("Not judged", _refused(summary))
    if summary.own:
        yield from _part("Not compared: different on every node", textwrap.wrap(", ".join(summary.own), 96))
    if summary.incomplete:
        yield "\nToo many different values: some were not compared."
    counts = Counter(row.state for row in judged.rows)
    said = ", ".join(f"{counts[state]} {_WORDS[state]}" for state in STATES if counts[state])
    yield f"\n{len(judged.rows)} nodes: {said}" if judged.rows else "no nodes"


def _part(title: str, lines: Iterator[str] | list[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"\n{title}"
        yield from (f"  {line}" for line in found[:MOST])
        if len(found) > MOST:
            yield f"  and {len(found) - MOST} more: --format json has all"


def _nodes(count: int, nodes: str) -> str:
    return f"{count} node{'s' * (count != 1)}: {shortened(nodes)}"


def _slow(summary: Judgement) -> Iterator[str]:
    for one in summary.stragglers:
        where = one.node if one.gpu is None else f"{one.node} GPU {one.gpu}"
        part = abs(one.value - one.median) / abs(one.median) if one.median else 0
        yield f"{where}: {one.figure} {one.value:g} {one.unit}, {part:.0%} worse than the median {one.median:g} (z {one.z:g})"


def _associations(summary: Judgement) -> Iterator[str]:
    for one in summary.associations:
        yield (
            f"{one.fact} = {one.value}: {one.sick_with} of {one.with_} nodes are sick, {one.sick} of {one.nodes} in all "
            f"(p {one.p:.1g})"
        )


def _deviations(summary: Judgement) -> Iterator[str]:
    """Deviations of the same nodes together."""
    groups: dict[str, list[Deviant]] = {}
    for one in summary.deviations:
        groups.setdefault(one.nodes, []).append(one)
    for nodes, members in groups.items():
        yield _nodes(members[0].count, nodes)
        for one in members[:12]:
            gpus = f" on GPU {one.gpus[0].index}" if len(one.gpus) == 1 else ""
            yield f"    {one.fact}{gpus}: {_short(one.value)}; most have {_short(one.majority)}"
        if len(members) > 12:
            yield f"    and {len(members) - 12} more facts"


def _short(value: str) -> str:
    return textwrap.shorten(value, 80, placeholder=" …") or "(empty)"


def _changes(summary: Judgement) -> Iterator[str]:
    for one in summary.changes:
        yield f"{one.fact}: {_short(one.before)} → {_short(one.now)} on {_nodes(one.count, one.nodes)}"


def _refused(summary: Judgement) -> Iterator[str]:
    """Documents with one reason on one line."""
    places: dict[str, list[str]] = {}
    for where, why in summary.refused:
        places.setdefault(why, []).append(where)
    for why, found in places.items():
        yield f"{', '.join(found[:3])}{f' and {len(found) - 3} more' if len(found) > 3 else ''}: {why}"
