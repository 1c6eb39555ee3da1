"""Many reports judged together: the state of each node with its reasons, deviations, stragglers."""

from __future__ import annotations

from typing import NamedTuple

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.deviations import (
    Deviation,
    compare_with_majority,
    find_stragglers,
)
from rocm_doctor.fleet.policy import FleetPolicy, unmet_demands
from rocm_doctor.fleet.table import Node, NodeTable
from rocm_doctor.fleet.types import Deviant, Group, Judgement, Straggler

SEVERITIES = ("error", "warning", "note")
STATES = {
    "problems": "with problems", "slow": "slow", "undetermined": "undetermined", "silent": "without a report", "measured": "measured only",
    "ready": "ready",
}  # fmt: skip
"""States of a node, the first that fits is its; with words for people."""


class StateReason(NamedTuple):
    """A state of a node (a key of STATES), and why. `id`, `row`, `severity`: those of the finding, if one is the reason."""

    state: str
    why: str = ""
    id: str = ""
    row: str = ""
    severity: str = ""


class NodeRow(NamedTuple):
    """One machine of the fleet as a line of a list: its host name, its state (a key of STATES), and the reasons for all of its
    states."""

    host: str
    state: str
    reasons: tuple[str, ...]


class FleetResult(NamedTuple):
    """The judgement, a row for each node, and the severities of everything that was found."""

    summary: Judgement
    rows: list[NodeRow]
    severities: frozenset[str]


def judge_table(table: NodeTable, policy: FleetPolicy) -> FleetResult:
    """The judgement on what is in the table."""
    unmet = unmet_demands(policy, table)
    slow = find_stragglers(table)
    deviations, individual = compare_with_majority(table)
    reasons = {node.host: _reasons(node, table.titles) for node in table.nodes}
    for why, numbers in unmet.items():
        for number in numbers:
            reasons[table.nodes[number].host].append(StateReason("problems", why, severity="error"))
    for straggler in slow:
        reasons[straggler.node].append(StateReason("slow", _explain(straggler)))
    silent = dict.fromkeys(nodeset.expand(policy.nodes), "not in what was judged") | table.silent
    reasons |= {host: [StateReason("silent", why)] for host, why in silent.items() if host not in reasons}
    rows = [_row(host, own) for host, own in sorted(reasons.items())]
    sick = {row.host for row in rows if row.state in ("problems", "slow")}
    severities = {severity for node in table.nodes for _, _, severity in node.causes}
    severities |= {name for name, some in (("error", unmet), ("warning", slow), ("note", deviations)) if some}
    summary = Judgement(
        nodes=len(table.nodes),
        groups=_groups(reasons),
        stragglers=tuple(slow),
        deviations=tuple(_deviant(deviation, table, sick) for deviation in deviations),
        refused=tuple(table.refused),
        own=tuple(individual),
    )
    return FleetResult(summary, rows, frozenset(severities))


def exit_code(judged: FleetResult, fail_on: str, strict: bool) -> int:
    """0 all is well. 1 findings at or above `fail_on`. 3 nothing was judged, or nodes are silent, or, under `strict`, a verdict is
    undetermined or a document was refused."""
    silent = any(row.state == "silent" for row in judged.rows)
    if fail_on != "never" and any(s in judged.severities for s in SEVERITIES[: SEVERITIES.index(fail_on) + 1]):
        return 1
    unsure = judged.summary.refused or any(row.state == "undetermined" for row in judged.rows)
    return 3 if not judged.summary.nodes or (silent and fail_on != "never") or (strict and (silent or unsure)) else 0


def _reasons(node: Node, titles: dict[tuple[str, str, str], str]) -> list[StateReason]:
    """The state of a node by its own verdict."""
    if "problems" in node.verdicts:
        loud = [StateReason("problems", titles[cause], *cause) for cause in sorted(node.causes) if cause[2] != "note"]
        return loud or [StateReason("problems", "problems")]
    return [StateReason(next((state for state in ("undetermined", "ready") if state in node.verdicts), "measured"))]


def _explain(straggler: Straggler) -> str:
    where = "" if straggler.gpu is None else f" of GPU {straggler.gpu}"
    return f"{straggler.figure}{where}: {straggler.value:g} {straggler.unit}, median {straggler.median:g}"


def _row(host: str, reasons: list[StateReason]) -> NodeRow:
    states = {reason.state for reason in reasons}
    return NodeRow(
        host, next(state for state in STATES if state in states), tuple(reason.why for reason in reasons if reason.why)
    )


def _groups(reasons: dict[str, list[StateReason]]) -> tuple[Group, ...]:
    """A group for each reason with all nodes that have it, the worst state first, then by severity and number of nodes. Slow
    nodes have none: they are the stragglers."""
    hosts: dict[StateReason, list[str]] = {}
    for host, node_reasons in reasons.items():
        for reason in node_reasons:
            if reason.state != "slow":
                hosts.setdefault(reason, []).append(host)
    groups = [Group(*reason, len(nodes), nodeset.fold(nodes)) for reason, nodes in hosts.items()]
    order = list(STATES)
    return tuple(sorted(groups, key=lambda one: (order.index(one.state), one.severity, -one.count, one.why, one.id, one.row)))


def _deviant(one: Deviation, table: NodeTable, sick: set[str]) -> Deviant:
    """The deviation by names; `sick`: nodes with problems, and slow ones."""
    hosts = [table.nodes[number].host for number in one.nodes]
    by_node: dict[int, list[str]] = {}
    for node, gpu in one.places:
        if gpu >= 0:
            by_node.setdefault(node, []).append(str(gpu))
    groups: dict[str, list[str]] = {}
    for node, indexes in by_node.items():
        groups.setdefault(nodeset.fold(indexes).strip("[]"), []).append(table.nodes[node].host)
    gpus = {index: nodeset.fold(names) for index, names in sorted(groups.items())}
    return Deviant(one.fact, one.value, one.majority, len(hosts), len(sick.intersection(hosts)), nodeset.fold(hosts), gpus)
