"""Ray: a task pinned to each node, started by a child of this process; Ray itself is never imported here."""

from __future__ import annotations

import sys

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.engines import EngineError, Launch, Plan, Request, node_command
from rocm_doctor.fleet.node import first_lines
from rocm_doctor.workers import START, process


def plan(request: Request) -> Plan:
    """One child that submits all tasks to the cluster at RAY_ADDRESS (or the local one). `extra`: the interpreter that has Ray."""
    python = next(iter(request.extra), sys.executable)
    done = process.run([python, START, "ray", "nodes"], limit=60)
    rows = [line.split("|") for line in done.stdout.splitlines() if line.count("|") == 2]
    if not rows:
        raise EngineError(first_lines(done.stderr) or "the cluster has no nodes")
    known = {name: (id_, state) for name, id_, state in rows if nodeset.is_host_name(name)}
    wanted = request.nodes_to_ask(known)
    silent = {name: known.get(name, ("", "not a node of this cluster"))[1] for name in wanted}
    up = [name for name in wanted if silent[name] == "alive"]
    pairs = [f"{name}={known[name][0]}" for name in up]
    argv = [python, START, "ray", "run", str(request.limit), ",".join(pairs), *node_command(request)]
    return Plan([Launch(argv, up, labelled=True)] if up else [], {name: why for name, why in silent.items() if name not in up})
