"""Slurm: an srun of one task for each node, in this job's allocation or in an allocation of its own.

A node that is busy, hangs or fails then concerns no other, and what srun says is about that node. An allocation of one node for a minute
starts at once where a larger job waits for its turn: Slurm's backfill lets it go first if it ends before.
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.engines import EngineError, Launch, LaunchPlan, RunRequest, node_command
from rocm_doctor.fleet.node import first_lines
from rocm_doctor.workers import process

USABLE = ("idle", "mixed", "allocated", "completing", "planned", "blocked")
"""States of sinfo in which a task may start: at once, or when something ends."""
OCCUPIED = ("mixed", "allocated", "completing")
"""States in which jobs run."""
RESERVED = ("reserved", "maint")
"""States in which a task may start with --reservation."""
UNREACHABLE = "*~#!%^"
"""Signs behind a state: does not respond, is powered off, powering up or down, or reboots."""
WAIT = 45
"""Seconds for a node to become free: the backfill scheduler looks every 30 s by default."""


class State(NamedTuple):
    """What sinfo says of a node."""

    name: str
    reason: str
    partition: str


def plan(request: RunRequest) -> LaunchPlan:
    """An srun for each node that is up. The rest is silent, with Slurm's state and reason."""
    own = nodeset.expand(os.environ.get("SLURM_JOB_NODELIST", ""))
    inside = bool(own) and not request.partition and set(request.nodes) <= set(own)
    named = request.nodes or (own if inside else [])
    reserved = any(option.startswith("--reservation") for option in request.extra)

    def reasons(nodes: Sequence[str]) -> dict[str, str]:
        states = _states(nodes, request.partition)
        return {name: _refusal(states.get(name), reserved or inside) for name in nodes}

    states = _states(named, request.partition)
    wanted = request.nodes_to_ask(named or states)
    silent = {name: why for name in wanted if (why := _refusal(states.get(name), reserved or inside))}
    job = f"rocm-doctor-{uuid.uuid4().hex[:12]}"
    launches = [_launch(request, name, states[name], job, inside) for name in wanted if name not in silent]
    cancel = [] if inside or not launches else [["scancel", "--quiet", f"--name={job}"]]
    return LaunchPlan(launches, silent, cancel, explain=reasons, start_limit=0 if inside else WAIT)


def _refusal(state: State | None, reserved: bool) -> str:
    """Why no task can start on a node in that state; empty if one can."""
    if state is None:
        return "not a node of this cluster"
    base = _base(state)
    if base in RESERVED and not reserved:
        return f"{state.name}: --engine-arg=--reservation=NAME runs there"
    usable = base in (*USABLE, *RESERVED) and not set(state.name) & set(UNREACHABLE)
    silent = "not responding" if "*" in state.name and state.reason == "none" else state.reason
    return "" if usable else f"{state.name}: {silent}"


def _base(state: State) -> str:
    return state.name.rstrip(UNREACHABLE + "$@+-")


def _launch(request: RunRequest, name: str, state: State, job: str, inside: bool) -> Launch:
    """srun on one node."""
    minutes = math.ceil((request.limit + 5) / 60)
    alone = ["--overlap"] if inside else [f"--immediate={WAIT}", f"--time={minutes}", f"--partition={state.partition}"]
    argv = [
        "srun", "--quiet", f"--nodelist={name}", "--nodes=1", "--ntasks=1", f"--job-name={job}", "--input=none", *alone, *request.extra,
        *node_command(request, name),
    ]  # fmt: skip
    # A job that runs there may hold the GPUs' memory.
    if request.asked[0] == "check" and not inside and _base(state) in OCCUPIED:
        argv += ["--ignore", "hw.below-capacity:vram-held"]
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_JOB", "SLURM_STEP", "SLURM_N"))}
    return Launch(argv, name, None if inside else outside)


def _states(wanted: Sequence[str], partition: str) -> dict[str, State]:
    """The state of each node by its name, with the first partition that is up and has it. Raises EngineError if sinfo fails."""
    argv = ["sinfo", "--noheader", "--Node", "--format=%N|%T|%a|%R|%E"]
    argv += [f"--nodes={nodeset.fold(wanted)}"] if wanted else []
    argv += [f"--partition={partition}"] if partition else []
    done = process.run(argv, limit=30)
    if done.state != "finished" or done.returncode:
        raise EngineError(f"sinfo: {first_lines(done.stderr) or done.state}")
    rows = [line.split("|", 4) for line in done.stdout.splitlines() if line.count("|") >= 4]
    states: dict[str, State] = {}
    for name, state, up, within, reason in sorted(rows, key=lambda row: row[2] != "up"):
        if nodeset.is_host_name(name):
            states.setdefault(
                name, State(state, reason, within) if up == "up" else State("partition down", f"{within} is {up}", within)
            )
    return states
