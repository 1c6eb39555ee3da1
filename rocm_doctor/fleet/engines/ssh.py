"""The system's own ssh, one for each host: it has the keys, the agent, the jump hosts and the known hosts of this user already.

A library (asyncssh) would need all of that configured a second time. Nothing is asked for: a host that wants a password is silent.
"""

from __future__ import annotations

import shlex

from rocm_doctor.fleet.engines import Launch, Plan, Request, asked, named

OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "-o", "LogLevel=ERROR")


def plan(request: Request) -> Plan:
    """One ssh for each host."""
    return Plan(
        [
            Launch(["ssh", *OPTIONS, *request.extra, "--", host, shlex.join(asked(request, host))], [host])
            for host in named(request, "ssh")
        ]
    )
