"""Slurm: one srun with a task on each node, in this job's allocation or in one of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.engines import EngineError, Launch, Plan, Request, asked
from rocm_doctor.fleet.node import last_line
from rocm_doctor.workers import process

USABLE = ("idle", "mixed", "allocated", "completing")
"""States in which a task may start: at once, or when a job ends."""


TRIES = 3
"""Runs at most. Where the prolog fails on one node, Slurm ends the job on all: the others are run again without that node."""


def plan(request: Request, tries: int = TRIES) -> Plan:
    """An srun for the nodes that are up. The rest is silent, with Slurm's state and reason."""
    inside = os.environ.get("SLURM_JOB_NODELIST", "") if not request.nodes and not request.partition else ""
    wanted = nodeset.expand(inside) if inside else request.nodes
    states = _states(wanted, request.partition)
    silent = {name: "not a node of this cluster" for name in wanted if name not in states}
    silent |= {name: f"{state}: {reason}" for name, (state, reason) in states.items() if _base(state) not in USABLE}
    up = [name for name in states if name not in silent]
    if not up:
        return Plan([], silent)
    job = f"rocm-doctor-{uuid.uuid4().hex[:12]}"
    launch = Launch(_srun(request, up, job, bool(inside)), up)
    cancel = [] if inside else [["scancel", f"--name={job}"]]
    again = None if inside or tries == 1 else lambda nodes: plan(request._replace(nodes=nodes), tries - 1)
    return Plan([launch], silent, cancel, again=again)


def _srun(request: Request, up: Sequence[str], job: str, inside: bool) -> list[str]:
    """The command. Without labels, srun mixes what the tasks print in the middle of a line."""
    minutes = int(request.limit // 60) + 2
    own = ["--overlap"] if inside else [f"--time={minutes}", *([f"--partition={request.partition}"] if request.partition else [])]
    return [
        "srun", f"--nodelist={nodeset.fold(up)}", f"--nodes={len(up)}", f"--ntasks={len(up)}", "--ntasks-per-node=1",
        f"--job-name={job}", "--kill-on-bad-exit=0", "--wait=0", "--label", "--input=none", *own, *request.extra,
        *asked(request),
    ]  # fmt: skip


def _states(wanted: Sequence[str], partition: str) -> dict[str, tuple[str, str]]:
    """State and reason of each node."""
    argv = ["sinfo", "--noheader", "--Node", "--format=%N|%T|%E"]
    argv += [f"--nodes={nodeset.fold(wanted)}"] if wanted else []
    argv += [f"--partition={partition}"] if partition else []
    done = process.run(argv, limit=30)
    if done.state != "finished" or done.returncode:
        raise EngineError(f"sinfo: {last_line(done.stderr) or done.state}")
    rows = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]
    return {name: (state, reason) for name, state, reason in rows if nodeset.valid(name)}


def _base(state: str) -> str:
    return state.rstrip("*~#!%$@^-+")
