"""Many reports judged together: verdicts by cause, deviations, stragglers, associations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.deviations import (
    Deviation,
    compare_with_majority,
    compare_with_reports,
    find_associations,
    find_stragglers,
)
from rocm_doctor.fleet.policy import Policy, unmet_demands
from rocm_doctor.fleet.table import Node, Table
from rocm_doctor.fleet.types import Deviant, Group, Judgement, Straggler, VerdictGroup

SEVERITIES = ("error", "warning", "note")
DRIFT = 5.0
"""Seconds of difference between two clocks that are taken for the time a report was on its way."""


class Row(NamedTuple):
    """One node for lists: state is problems, slow, undetermined, silent, measured (figures only) or ready."""

    host: str
    state: str
    reasons: tuple[str, ...]


class FleetResult(NamedTuple):
    """The judgement, and each node."""

    summary: Judgement
    rows: list[Row]
    severities: frozenset[str]


def judge_table(table: Table, policy: Policy, golden: Table | None = None) -> FleetResult:
    """The judgement on what is in the table; `golden`: the report, or each node's own, to compare with instead of the majority."""
    silent = _silent_nodes(table, policy)
    unmet = unmet_demands(policy, table)
    slow = find_stragglers(table)
    deviations, individual = (compare_with_reports(table, golden), []) if golden else compare_with_majority(table)
    deviations += _clocks(table)
    missed: dict[str, list[str]] = {}
    for demand in unmet:
        for host in nodeset.expand(demand.nodes):
            missed.setdefault(host, []).append(f"{demand.demand}: found {demand.found}")
    bad = {*missed, *(one.node for one in slow)}
    sick = frozenset(n for n, node in enumerate(table.nodes) if "problems" in node.verdicts or node.host in bad)
    severities = {severity for node in table.nodes for _, _, severity in node.causes}
    severities |= {name for name, found in (("error", unmet), ("warning", slow), ("note", deviations)) if found}
    summary = Judgement(
        nodes=len(table.nodes),
        silent=_groups(silent),
        verdicts=_verdicts(table),
        unmet=tuple(unmet),
        stragglers=tuple(slow),
        deviations=tuple(
            Deviant(d.fact, d.value, d.majority, len(d.nodes), table.names(d.nodes), _gpus(d, table)) for d in deviations
        ),
        associations=tuple(find_associations(deviations, sick, len(table.nodes))),
        refused=tuple(table.refused),
        own=tuple(individual),
    )
    return FleetResult(summary, _rows(table, silent, slow, missed), frozenset(severities))


def exit_code(judged: FleetResult, fail_on: str, strict: bool) -> int:
    """0 all is well. 1 findings at or above `fail_on` (`silent`: errors and silent nodes). 3 nothing was judged, or nodes are silent,
    or, under `strict`, a verdict is undetermined or a document was refused."""
    silent = any(row.state == "silent" for row in judged.rows)
    worst = "error" if fail_on == "silent" else fail_on
    if fail_on != "never" and any(s in judged.severities for s in SEVERITIES[: SEVERITIES.index(worst) + 1]):
        return 1
    if fail_on == "silent" and silent:
        return 1
    unsure = judged.summary.refused or any(row.state == "undetermined" for row in judged.rows)
    return 3 if not judged.summary.nodes or (silent and fail_on != "never") or (strict and (silent or unsure)) else 0


def _clocks(table: Table) -> list[Deviation]:
    """Clocks that are wrong by more than the reports can have been on their way."""
    wrong = {n: ahead for n, ahead in table.clocks().items() if abs(ahead) > DRIFT}
    return [Deviation("clock", f"{ahead:+.0f} s", "within 5 s of each other", ((n, -1),)) for n, ahead in wrong.items()]


def _silent_nodes(table: Table, policy: Policy) -> dict[str, str]:
    """Why, by node, for those without anything that could be judged."""
    answered = {node.host for node in table.nodes}
    found = {host: "not in what was judged" for host in nodeset.expand(policy.nodes) if host not in answered}
    return found | table.silent


def _groups(whys: dict[str, str]) -> tuple[Group, ...]:
    groups: dict[str, list[str]] = {}
    for host, why in whys.items():
        groups.setdefault(why, []).append(host)
    return tuple(Group(why, len(hosts), nodeset.fold(hosts)) for why, hosts in sorted(groups.items()))


def _verdicts(table: Table) -> tuple[VerdictGroup, ...]:
    """Problems first, by severity and number of nodes."""
    causes: dict[tuple[str, str, str, str], list[str]] = {}
    for node in table.nodes:
        if verdict := _verdict(node):
            loud = [cause for cause in node.causes if cause[2] != "note"] if verdict == "problems" else []
            for cause in loud or [("", "", "")]:
                causes.setdefault((verdict, *cause), []).append(node.host)
    folded = [
        VerdictGroup(verdict, len(hosts), nodeset.fold(hosts), id_, row, severity, table.titles.get((id_, row, severity), ""))
        for (verdict, id_, row, severity), hosts in causes.items()
    ]
    order = ("problems", "undetermined", "ready")
    return tuple(sorted(folded, key=lambda one: (order.index(one.verdict), one.severity, -one.count, one.id, one.row)))


def _verdict(node: Node) -> str:
    return next((one for one in ("problems", "undetermined", "ready") if one in node.verdicts), "")


def _gpus(one: Deviation, table: Table) -> dict[str, str]:
    """Indexes of GPUs, and the nodes where these have the value."""
    by_node: dict[int, list[str]] = {}
    for node, gpu in one.places:
        if gpu >= 0:
            by_node.setdefault(node, []).append(str(gpu))
    groups: dict[str, list[str]] = {}
    for node, indexes in by_node.items():
        groups.setdefault(nodeset.fold(indexes).strip("[]"), []).append(table.nodes[node].host)
    return {index: nodeset.fold(hosts) for index, hosts in sorted(groups.items())}


def _rows(table: Table, silent: dict[str, str], slow: Iterable[Straggler], missed: dict[str, list[str]]) -> list[Row]:
    late: dict[str, list[str]] = {}
    for one in slow:
        where = "" if one.gpu is None else f" of GPU {one.gpu}"
        late.setdefault(one.node, []).append(f"{one.figure}{where}: {one.value:g} {one.unit}, median {one.median:g}")
    rows = [Row(host, "silent", (why,)) for host, why in silent.items()]
    for node in table.nodes:
        titles = [table.titles[cause] for cause in sorted(node.causes) if cause[2] != "note"]
        demands = missed.get(node.host, [])
        state = "problems" if demands else _verdict(node) or "measured"
        state = "slow" if node.host in late and state != "problems" else state
        rows.append(Row(node.host, state, (*titles, *demands, *late.get(node.host, ()))))
    return sorted(rows)
