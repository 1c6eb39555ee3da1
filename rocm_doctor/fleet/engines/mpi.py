"""Open MPI: an mpirun of one rank for each host, so that a host that fails or calls itself otherwise concerns no other."""

from __future__ import annotations

from rocm_doctor.fleet.engines import Launch, LaunchPlan, RunRequest, list_hosts, node_command


def plan(request: RunRequest) -> LaunchPlan:
    """One mpirun for each host."""
    return LaunchPlan([
        Launch(["mpirun", "--host", host, "-np", "1", *request.extra, *node_command(request, host)], host)
        for host in list_hosts(request, "mpi")
    ])  # fmt: skip
