"""All nodes together: which of them have which value of which fact. Filled line by line; reports are not kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from rocm_doctor.fleet.lean import Cause, Figure, LeanGpu, Line, key_of
from rocm_doctor.model import NOT_ASKED, Unknown

NOT_PROBED = Unknown("not-asked")
MOST_VALUES = 3_000_000
"""Different values of all facts together. Beyond it no new value is taken in, which `Table.full` says."""
IGNORED = (
    "host.*", "gpu.uuid", "gpu.vram_used_*", "smoke.*", "said.*", "log", "log.*", "driver.events", "driver.error", "tool.*",
    "env.SLURM_*", "env.OMPI_*", "env.PMI*", "env.RANK", "env.LOCAL_RANK", "env.MASTER_*",
    "cmdline.BOOT_IMAGE", "cmdline.root", "cmdline.ip", "cmdline.hostname",
)  # fmt: skip
"""Facts that name a machine, a job or a moment, and those that the verdict already speaks of."""
WITH_FACTS = {"machine", "smoke", "capture"}
"""Kinds of reports that hold the facts of a machine; those of a node's first one are compared."""
FAMILIES = ("pkg.", "env.")
"""Listed whole: a member that a report lacks is absent on that machine, not unknown."""


class Figures(msgspec.Struct):
    """All values of one figure on GPUs of one name, and where each was measured: (node, GPU or -1)."""

    name: str
    unit: str
    better: str
    values: array[float] = msgspec.field(default_factory=lambda: array("d"))
    places: list[tuple[int, int]] = []


class Node(msgspec.Struct):
    """What is kept of a node besides its facts."""

    host: str
    verdicts: set[str] = set()
    causes: set[tuple[str, str, str]] = set()
    """Root causes: diagnosis, row, severity."""
    id: str = ""
    gpus: list[str] = []
    """gfx targets."""
    kinds: set[str] = set()
    """Kinds of its reports."""


class Table:
    """Nodes by number, and for each fact and value the numbers of the nodes that have it."""

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        self.nodes: list[Node] = []
        self.columns: dict[str, dict[Any, array[int]]] = {}
        self.figures: dict[tuple[str, str, str], Figures] = {}
        self.titles: dict[tuple[str, str, str], str] = {}
        self.silent: dict[str, str] = {}
        self.twice: dict[str, str] = {}
        self.full = False
        self._numbers: dict[str, int] = {}
        self._ignored = (*IGNORED, *ignore)
        self._unused: set[str] = set()
        self._count = 0

    def number(self, host: str) -> int:
        """The number of a node, which is given on first sight."""
        found = self._numbers.get(host)
        if found is None:
            found = self._numbers[host] = len(self.nodes)
            self.nodes.append(Node(host))
        return found

    def add(self, line: Line) -> None:
        """Take in what a node sent. A second report of one kind is named and not counted."""
        if line.error:
            self.silent[line.host] = line.error
            return
        self.silent.pop(line.host, None)
        number = self.number(line.host)
        node = self.nodes[number]
        kind = line.kind or "figures"
        if kind in node.kinds:
            self.twice[line.host] = _twice(node, line)
            return
        if line.snapshot is not None:
            self._judged(node, line)
            if not node.kinds & WITH_FACTS:
                self._facts(number, line)
        node.kinds.add(kind)
        devices = {one.index: one.gfx or one.name for one in line.gpus}
        for one in line.figures:
            self._figure(number, one, devices.get(one.gpu, ""))

    def compared(self) -> list[int]:
        """Numbers of the nodes whose facts are known."""
        return [n for n, node in enumerate(self.nodes) if node.kinds & WITH_FACTS]

    def _judged(self, node: Node, line: Line) -> None:
        node.verdicts.add(line.verdict)
        for cause in line.findings:
            if not cause.follows_from:
                key = (cause.id, cause.row, cause.severity)
                node.causes.add(key)
                self.titles.setdefault(key, _title(cause))

    def _facts(self, number: int, line: Line) -> None:
        snapshot = line.snapshot
        assert snapshot is not None
        node = self.nodes[number]
        node.gpus = [str(key_of(gpu.facts["gfx"].value)) if "gfx" in gpu.facts else "?" for gpu in snapshot.gpus]
        if (id_ := snapshot.facts.get("host.id")) and isinstance(id_.value, str):
            node.id = id_.value
        for name, fact in snapshot.facts.items():
            if name == "cmdline" and isinstance(fact.value, str):
                for word in dict.fromkeys(fact.value.split()):
                    key, _, value = word.partition("=")
                    self._hold(f"cmdline.{key}", value or "set", number)
            else:
                self._hold(name, fact.value, number)
        self._hold("gpus", len(snapshot.gpus), number)
        self._hold("doctor.version", line.tool_version, number)
        self._hold("doctor.matrix", line.matrix_version, number)
        for name, values in _vectors(snapshot.gpus).items():
            self._hold(name, values, number)

    def _hold(self, name: str, value: Any, number: int) -> None:
        column = self.columns.get(name)
        if column is None:
            if name in self._unused or not self._wanted(name):
                return
            column = self.columns[name] = {}
        key = value if type(value) is bool else _vector(value) if type(value) is _Gpus else key_of(value)
        held = column.get(key)
        if held is None:
            if self._count >= MOST_VALUES:
                self.full = True
                return
            self._count += 1
            held = column[key] = array("I")
        held.append(number)

    def _wanted(self, name: str) -> bool:
        if name in FAMILIES or any(fnmatchcase(name, pattern) for pattern in self._ignored):
            if len(self._unused) < MOST_VALUES:
                self._unused.add(name)
            return False
        return True

    def _figure(self, number: int, one: Figure, device: str) -> None:
        if not abs(one.value) < 1e300 or not -1 <= one.gpu < 1 << 16:
            return
        key = (one.name, one.unit, device)
        figures = self.figures.get(key)
        if figures is None:
            if self._count >= MOST_VALUES:
                self.full = True
                return
            figures = self.figures[key] = Figures(one.name, one.unit, one.better)
        self._count += 1
        figures.values.append(one.value)
        figures.places.append((number, one.gpu))


class _Gpus(tuple[Any, ...]):
    """The values of one fact on all GPUs of a node, in order."""


def _vector(values: _Gpus) -> tuple[Any, ...]:
    return tuple(key_of(value) for value in values)


def _vectors(gpus: list[LeanGpu]) -> dict[str, _Gpus]:
    names = dict.fromkeys(name for gpu in gpus for name in gpu.facts)
    missing = NOT_ASKED
    return {f"gpu.{name}": _Gpus(gpu.facts.get(name, missing).value for gpu in gpus) for name in names}


def _title(cause: Cause) -> str:
    return cause.title[:200] or cause.id


def _twice(node: Node, line: Line) -> str:
    id_ = line.snapshot.facts.get("host.id") if line.snapshot else None
    if node.id and id_ and isinstance(id_.value, str) and id_.value != node.id:
        return "two machines have this name; the first is judged"
    return "reported twice; the first report is judged"
