"""The system's own ssh, once for each host.

It has the keys, the agent, the jump hosts and the known hosts of this user already; a library would need them configured a second
time. Nothing is asked for: a host that wants a password is silent.
"""

from __future__ import annotations

import shlex

from rocm_doctor.fleet.engines import Launch, LaunchPlan, RunRequest, list_hosts, node_command

CONNECTING = 10
"""Seconds for a host to accept the connection."""


def plan(request: RunRequest) -> LaunchPlan:
    """One ssh for each host. `extra`: options of ssh."""
    options = (
        "-n",
        "-oBatchMode=yes",
        "-oLogLevel=ERROR",
        f"-oConnectTimeout={CONNECTING}",
        "-oServerAliveInterval=15",
        *request.extra,
    )
    launches = [
        Launch(["ssh", *options, host, shlex.join(node_command(request, host))], host) for host in list_hosts(request, "ssh")
    ]
    return LaunchPlan(launches, start_limit=CONNECTING)
