"""This machine, once, or once under each name: to try a fleet without one."""

from __future__ import annotations

from rocm_doctor.fleet import node
from rocm_doctor.fleet.engines import Launch, LaunchPlan, RunRequest, node_command


def plan(request: RunRequest) -> LaunchPlan:
    """One process for each name."""
    return LaunchPlan([Launch(node_command(request, name), name) for name in request.nodes_to_ask([node.name()])])
