"""All nodes together: which of them have which value of which fact. Filled line by line; reports are not kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

import msgspec

from rocm_doctor.fleet.nodeset import fold
from rocm_doctor.fleet.reports import LeanSnapshot, Line, key_of
from rocm_doctor.model import NOT_ASKED, Unknown

Place = tuple[int, int]
"""A node's number, and the index of a GPU or -1."""
NOT_PROBED = Unknown("not-asked")
IGNORED = (
    "host.*", "gpu.uuid", "gpu.vram_used_*", "smoke.*", "said.*", "log", "log.*", "driver.events", "driver.error", "tool.*",
    "gpu.ras.*", "gpu.processes", "env.SLURM*", "env.OMPI_*", "env.PMI*", "env.RAY_*", "env.RANK", "env.LOCAL_RANK", "env.MASTER_*",
    "cmdline.BOOT_IMAGE", "cmdline.root", "cmdline.ip", "cmdline.hostname",
)  # fmt: skip
"""Facts that name a machine, a job or a moment, and those that the verdict already speaks of."""
WITH_FACTS = ("machine", "smoke", "capture")
"""Kinds of reports that hold the facts of a machine; those of one of them are compared."""
FAMILIES = ("pkg.", "env.")
"""Listed whole: a member that a report lacks is absent on that machine, not unknown."""


class Figures(msgspec.Struct):
    """All values of one figure on GPUs of one name, and where each was measured: (node, GPU or -1)."""

    name: str
    unit: str
    better: str
    values: array[float] = msgspec.field(default_factory=lambda: array("d"))
    places: list[Place] = []


class Node(msgspec.Struct):
    """What is kept of a node, or of one report of it, besides its facts."""

    host: str
    received: float = 0.0
    verdicts: set[str] = set()
    causes: set[tuple[str, str, str]] = set()
    """Root causes: diagnosis, row, severity."""
    gpus: list[str] = []
    """gfx targets."""
    clock: float | None = None
    """Seconds by which its clock is ahead of the collector's."""
    has_facts: bool = False


class Table:
    """Nodes by number, and for each fact and value the numbers of the nodes that have it. Valid after `settle`."""

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        self.nodes: list[Node] = []
        self.columns: dict[str, dict[Any, array[int]]] = {}
        self.figures: dict[tuple[str, str, str], Figures] = {}
        self.titles: dict[tuple[str, str, str], str] = {}
        self.silent: dict[str, str] = {}
        self._reports: list[Node] = []
        self._newest: dict[tuple[str, str], int] = {}
        self._ignored = (*IGNORED, *ignore)
        self._unused: set[str] = set()

    def add(self, line: Line) -> None:
        """Take in what a node sent. Of two reports of one kind the newer counts: by the collector's clock, else the later one."""
        if line.error:
            self.silent[line.host] = line.error
            return
        key = (line.host, line.kind or "figures")
        if key in self._newest and line.received < self._reports[self._newest[key]].received:
            return
        report = Node(line.host, line.received, clock=line.at - line.received if line.at and line.received else None)
        number = self._newest[key] = len(self._reports)
        self._reports.append(report)
        for cause in line.findings:
            if not cause.follows_from:
                found = (cause.id, cause.row, cause.severity)
                report.causes.add(found)
                self.titles.setdefault(found, cause.title[:200] or cause.id)
        if line.snapshot is not None:
            report.verdicts, report.has_facts = {line.verdict}, key[1] in WITH_FACTS
            if report.has_facts:
                report.gpus = [str(key_of(gpu.facts["gfx"].value)) if "gfx" in gpu.facts else "?" for gpu in line.snapshot.gpus]
                self._add_facts(number, line, line.snapshot)
        devices = {one.index: one.gfx or one.name for one in line.gpus}
        for one in line.figures:
            if abs(one.value) < 1e300 and -1 <= one.gpu < 1 << 16:
                group = (one.name, one.unit, devices.get(one.gpu, ""))
                figures = self.figures.setdefault(group, Figures(one.name, one.unit, one.better))
                figures.values.append(one.value)
                figures.places.append((number, one.gpu))

    def settle(self) -> None:
        """From numbers of reports to numbers of nodes, without reports that a newer one replaced."""
        alive = sorted(self._newest.values())
        numbers: dict[str, int] = {}
        facts, figures = {}, {}
        for report, own in ((one, self._reports[one]) for one in alive):
            if own.host not in numbers:
                numbers[own.host] = len(self.nodes)
                self.nodes.append(Node(own.host))
            number = figures[report] = numbers[own.host]
            node = self.nodes[number]
            node.verdicts |= own.verdicts
            node.causes |= own.causes
            node.clock = own.clock if node.clock is None else node.clock
            if own.has_facts and not node.has_facts:
                node.has_facts, node.gpus, facts[report] = True, own.gpus, number
            self.silent.pop(own.host, None)
        if len(alive) == len(self._reports) == len(self.nodes):
            return
        self.columns = {name: column for name, found in self.columns.items() if (column := _renumber(found, facts))}
        for held in self.figures.values():
            kept = [(value, (figures[n], gpu)) for value, (n, gpu) in zip(held.values, held.places) if n in figures]
            held.values, held.places = array("d", (value for value, _ in kept)), [place for _, place in kept]

    def nodes_with_facts(self) -> list[int]:
        """Numbers of the nodes whose facts are known."""
        return [n for n, node in enumerate(self.nodes) if node.has_facts]

    def names(self, numbers: Iterable[int]) -> str:
        """The nodes of these numbers as a node set."""
        return fold(self.nodes[number].host for number in numbers)

    def clocks(self) -> dict[int, float]:
        """Seconds by which a node's clock is ahead of the usual one, by number."""
        known = {n: node.clock for n, node in enumerate(self.nodes) if node.clock is not None}
        usual = median(known.values()) if known else 0.0
        return {n: clock - usual for n, clock in known.items()}

    def _add_facts(self, number: int, line: Line, snapshot: LeanSnapshot) -> None:
        hold, columns, unused = self._hold, self.columns, self._unused
        for name, fact in snapshot.facts.items():
            if name in unused:
                continue
            try:  # most values are known already
                columns[name][fact.value].append(number)
            except (KeyError, TypeError):
                hold(name, key_of(fact.value), number)
        if (cmdline := snapshot.facts.get("cmdline")) and isinstance(cmdline.value, str):
            for word in dict.fromkeys(cmdline.value.split()):
                key, _, value = word.partition("=")
                hold(f"cmdline.{key}", key_of(value or "set"), number)
        for name, own in (
            ("gpus", len(snapshot.gpus)),
            ("doctor.version", line.tool_version),
            ("doctor.matrix", line.matrix_version),
        ):
            hold(name, own, number)
        for name, values in _vectors(snapshot.gpus).items():
            if name in unused:
                continue
            try:
                columns[name][values].append(number)
            except (KeyError, TypeError):
                hold(name, tuple(map(key_of, values)), number)

    def _hold(self, name: str, value: Any, number: int) -> None:
        if name not in self.columns and name not in self._unused:
            if name in (*FAMILIES, "cmdline") or any(fnmatchcase(name, pattern) for pattern in self._ignored):
                self._unused.add(name)
            else:
                self.columns[name] = {}
        if name in self.columns:
            self.columns[name].setdefault(value, array("I")).append(number)


def _renumber(column: Mapping[Any, array[int]], numbers: Mapping[int, int]) -> dict[Any, array[int]]:
    made = {value: array("I", [numbers[n] for n in found if n in numbers]) for value, found in column.items()}
    return {value: found for value, found in made.items() if found}


def _vectors(gpus: list[LeanSnapshot]) -> dict[str, tuple[Any, ...]]:
    """The values of each fact on all GPUs of a node, in order."""
    rows = [gpu.facts for gpu in gpus]
    names = list(rows[0]) if rows else []
    if all(list(row) == names for row in rows):  # as a rule all GPUs have the same facts
        columns = zip(*[[fact.value for fact in row.values()] for row in rows])
        return {f"gpu.{name}": values for name, values in zip(names, columns)}
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {f"gpu.{name}": tuple([row[name].value if name in row else NOT_ASKED for row in rows]) for name in names}
