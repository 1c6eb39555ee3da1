"""ssh by clush, ClusterShell's command: fan-out, tree of gateways, time limits, and the system's own ssh.

That has the keys, the agent, the jump hosts and the known hosts of this user already; a library would need them configured a second
time. Nothing is asked for: a host that wants a password is silent.
"""

from __future__ import annotations

import math
import shlex
import sys

from rocm_doctor.fleet.engines import Launch, Plan, Request, list_hosts, node_command
from rocm_doctor.fleet.nodeset import fold

CONNECTING = 10
"""Seconds for a host to accept the connection."""
GRACE = 5
"""Seconds beyond both limits for the doctor's interpreter to start and for the report to arrive."""


def plan(request: Request) -> Plan:
    """One clush for all hosts. Its lines are labelled with the names that it was given."""
    hosts = list_hosts(request, "ssh")
    each = request.limit + CONNECTING + GRACE
    argv = [
        sys.executable, "-m", "ClusterShell.CLI.Clush", "-w", fold(hosts), "--nostdin", "--color=never", f"--fanout={request.fanout}",
        f"--connect_timeout={CONNECTING}", f"--command_timeout={each:g}", "--option=ssh_path=ssh -oLogLevel=ERROR -oServerAliveInterval=15",
        *request.extra, shlex.join(node_command(request)),
    ]  # fmt: skip
    if not hosts:
        return Plan([])
    waves = math.ceil(len(hosts) / request.fanout)
    return Plan([Launch(argv, hosts, labelled=True)], start_limit=waves * each - request.limit)
