"""The published types of `fleet judge --format json` (schemas/fleet.json)."""

from __future__ import annotations

from typing import Union

import msgspec

from rocm_doctor._version import __version__

SCHEMA_VERSION = 1


class Group(msgspec.Struct, frozen=True):
    """A state and one reason for it, with all nodes that have it."""

    state: str
    """problems, undetermined, silent, measured (figures only) or ready."""
    why: str
    """Title of a root cause, an unmet demand, or why there is no report that can be judged."""
    id: str
    row: str
    severity: str
    count: int
    nodes: str
    """Node set: mi300x-[001-117,120]."""


class Deviant(msgspec.Struct, frozen=True):
    """A `value` of a fact that differs from that of most nodes (`majority`); `count`: how many nodes have it."""

    fact: str
    value: str
    majority: str
    count: int
    sick: int
    """How many of these nodes have problems or are slow."""
    nodes: str
    gpus: dict[str, str] = {}
    """For a fact of single GPUs: their indexes, and the nodes where these have it."""


class Straggler(msgspec.Struct, frozen=True):
    """A straggler; `gpu` is null where the whole node is slow."""

    node: str
    gpu: Union[int, None]
    figure: str
    unit: str
    value: float
    median: float
    z: float
    """Robust standard deviations towards slow."""


class Judgement(msgspec.Struct, frozen=True):
    """`fleet judge --format json`."""

    nodes: int
    """Nodes that sent a report or figures."""
    groups: tuple[Group, ...]
    """The worst state first."""
    stragglers: tuple[Straggler, ...]
    deviations: tuple[Deviant, ...]
    """The rarest first."""
    refused: tuple[tuple[str, str], ...]
    """Documents that name no node and cannot be judged: place and reason."""
    own: tuple[str, ...]
    """Facts that differ from node to node, and are not compared."""
    schema_version: int = SCHEMA_VERSION
    tool_version: str = __version__
