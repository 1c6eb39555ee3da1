"""`nodes` lists the cluster's nodes, `name|id|state` a line; `run LIMIT NAME=ID,... COMMAND` runs the command once on each.

A node is called by its host name; several of one host (as in a test) by `HOST-` and the first characters of their id.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any


def main(argv: list[str]) -> None:
    """Connect to the cluster, and do what the first word says."""
    host, _, port = os.environ.get("RAY_ADDRESS", "").rpartition("/")[2].rpartition(":")
    if host and port.isdigit():  # Ray itself tries for a minute
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    import ray

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a task without GPUs must not hide them
    ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
    try:
        list_nodes(ray) if argv[0] == "nodes" else run_on_nodes(ray, float(argv[1]), argv[2].split(","), argv[3:])
    finally:
        ray.shutdown()


def write_line(line: str) -> None:
    """Print it at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def list_nodes(ray: Any) -> None:
    """Print every node."""
    nodes = ray.nodes()
    hosts = [node["NodeManagerHostname"] for node in nodes]
    for node, host in zip(nodes, hosts):
        name = host if hosts.count(host) == 1 else "{}-{}".format(host, node["NodeID"][:8])
        write_line("{}|{}|{}".format(name, node["NodeID"], "alive" if node["Alive"] else "dead"))


def run_on_nodes(ray: Any, limit: float, pairs: list[str], command: list[str]) -> None:
    """Print what the command prints on each node, as it ends, `NODE: LINE`."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    _run_command.__module__ = "__main__"  # so that Ray sends its text, not the name of this file, which the nodes lack
    pending: dict[Any, str] = {}
    for pair in pairs:
        name, _, node = pair.partition("=")
        pinned = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        task = ray.remote(_run_command).options(num_cpus=0, max_retries=0, scheduling_strategy=pinned)
        at = command.index("node") + 1
        pending[task.remote([*command[:at], "--as", name, *command[at:]], limit + 15)] = name
    while pending:
        done, _ = ray.wait(list(pending), num_returns=1)
        name = pending.pop(done[0])
        try:
            out, err = ray.get(done[0])
            for line in out.splitlines():
                write_line(f"{name}: {line}")
        except Exception as exc:
            err = str(exc)[-150:]
        sys.stderr.write("{}: {}\n".format(name, " ".join(err.split())[:150]) if err.strip() else "")


def _run_command(command: list[str], limit: float) -> tuple[str, str]:
    """Output and errors of the command. Runs in a worker of Ray, which has no part of this file but this function."""
    import subprocess

    done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return out, err[-150:] or (f"exit code {done.returncode}" if done.returncode else "")
