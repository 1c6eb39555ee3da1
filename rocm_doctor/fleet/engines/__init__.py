"""Launchers that fleets already run. Each module has `plan(request) -> Plan`: what to start, and which nodes cannot be reached."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rocm_doctor.bounded import Unreadable

ENGINES = ("local", "slurm", "ssh", "mpi", "ray", "k8s")


class Request(NamedTuple):
    """What the user asks for. `nodes` is empty for all that the engine has; `extra` goes to the engine's own command."""

    nodes: Sequence[str]
    asked: Sequence[str]
    limit: float
    doctor: Sequence[str] = ("rocm-doctor",)
    partition: str = ""
    extra: Sequence[str] = ()
    image: str = ""


class Launch(NamedTuple):
    """One process to start here, and the nodes whose reports it will print."""

    argv: Sequence[str]
    nodes: Sequence[str]
    env: Mapping[str, str] | None = None


class Plan(NamedTuple):
    """What to start, nodes that cannot be asked with why, and how to end on the nodes what was started."""

    launches: Sequence[Launch]
    silent: Mapping[str, str] = {}
    cancel: Sequence[Sequence[str]] = ()
    always_cancel: bool = False
    """Whether `cancel` is run after a whole run, too."""
    again: Callable[[Sequence[str]], Plan] | None = None
    """A second plan for nodes that gave no answer, where the engine can say more about them by then."""
    start_limit: float = 0.0
    """Seconds that the engine may take until the doctor starts, beyond what every engine has."""


class EngineError(Unreadable):
    """The engine is not there or refuses; the text says which command failed and how."""


def plan(engine: str, request: Request) -> Plan:
    """The plan of an engine. Raises EngineError."""
    module = importlib.import_module(f"rocm_doctor.fleet.engines.{engine}")
    made: Plan = module.plan(request)
    if not made.launches and not made.silent:
        raise EngineError("no nodes")
    return made


def asked(request: Request, host: str = "") -> list[str]:
    """The command for one node, or for any node that knows its name."""
    named = ["--as", host] if host else []
    return [*request.doctor, "fleet", "node", *named, "--limit", f"{request.limit:g}", "--", *request.asked]


def named(request: Request, engine: str) -> Sequence[str]:
    """The nodes of the request. Raises EngineError if it names none."""
    if not request.nodes:
        raise EngineError(f"--engine {engine} needs --nodes or --hostfile")
    return request.nodes
