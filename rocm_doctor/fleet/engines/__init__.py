"""Launchers that fleets already run. Each module has `plan(request) -> Plan`: what to start, and which nodes cannot be asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rocm_doctor.bounded import Unreadable

ENGINES = ("local", "slurm", "ssh", "mpi")


class RunRequest(NamedTuple):
    """What the user asks for. `nodes`: empty for all that the engine knows; `asked`: the doctor's arguments; `limit`: seconds for
    one node; `doctor`: the command that starts it; `extra`: options for the engine's own command; `fanout`: how many nodes at a
    time."""

    nodes: Sequence[str]
    asked: Sequence[str]
    limit: float
    doctor: Sequence[str] = ("rocm-doctor",)
    partition: str = ""
    extra: Sequence[str] = ()
    fanout: int = 64
    skip: Collection[str] = ()
    """Nodes that have reported already."""

    def nodes_to_ask(self, names: Iterable[str]) -> list[str]:
        """The nodes to ask: those that are named, else all that the engine knows."""
        return [name for name in self.nodes or names if name not in self.skip]


class Launch(NamedTuple):
    """One process to start here, and the node whose report it prints."""

    argv: Sequence[str]
    node: str
    env: Mapping[str, str] | None = None


class LaunchPlan(NamedTuple):
    """`launches`: what to start; `silent`: nodes that cannot be asked, with why; `cancel`: commands that end on the nodes what
    was started."""

    launches: Sequence[Launch]
    silent: Mapping[str, str] = {}
    cancel: Sequence[Sequence[str]] = ()
    explain: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    """What the engine knows, after the run, about nodes that gave no report."""
    start_limit: float = 0.0
    """Seconds that the engine may take until the doctor starts, beyond what every engine has."""

    def nodes(self) -> list[str]:
        return [*self.silent, *(launch.node for launch in self.launches)]


class EngineError(Unreadable):
    """The engine is not there or refuses; the text says which command failed and how."""


def plan(engine: str, request: RunRequest) -> LaunchPlan:
    """The plan of an engine. Raises EngineError if there is no node to ask, or the engine does not answer."""
    launch: LaunchPlan = importlib.import_module(f"rocm_doctor.fleet.engines.{engine}").plan(request)
    if not launch.launches and not launch.silent and not request.skip:
        raise EngineError("no nodes")
    return launch


def node_command(request: RunRequest, host: str) -> list[str]:
    """The command for one node."""
    return [*request.doctor, "fleet", "node", "--as", host, "--limit", f"{request.limit:g}", "--", *request.asked]


def list_hosts(request: RunRequest, engine: str) -> Sequence[str]:
    """The nodes of the request. Raises EngineError if it names none."""
    if not request.nodes:
        raise EngineError(f"--engine {engine} needs --nodes")
    return request.nodes_to_ask(())
