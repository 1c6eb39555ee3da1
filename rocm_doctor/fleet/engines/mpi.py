"""Open MPI: one mpirun with a rank on each host."""

from __future__ import annotations

from rocm_doctor.fleet.engines import Launch, Plan, Request, asked, named


def plan(request: Request) -> Plan:
    """One mpirun for all hosts; each names itself by its host name."""
    hosts = named(request, "mpi")
    argv = [
        "mpirun",
        "--host",
        ",".join(hosts),
        "-np",
        str(len(hosts)),
        "--map-by",
        "ppr:1:node",
        *request.extra,
        *asked(request),
    ]
    return Plan([Launch(argv, hosts)])
