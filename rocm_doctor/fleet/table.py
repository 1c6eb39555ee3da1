"""All nodes together: which of them have which value of which fact.

A report is kept as its differences from the first one of the fleet: the reports of a fleet are nearly the same, and 10,000 of them, with 400
facts each, would not fit. GPUs are compared by their place in the node, so that the differences of a fact of GPUs are those of each place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from statistics import mode
from typing import Any, NamedTuple

import msgspec

from rocm_doctor.fleet.reports import LeanFact, NodeFigure, ReportLine
from rocm_doctor.model import Unknown

Place = tuple[int, int]
"""A node's number, and the index of a GPU or -1."""
NOT_PROBED = Unknown("not-asked")
BY_SLOT = frozenset({"gpu.pci_bdf", "gpu.node", "gpu.render_node", "gpu.numa_node", "gpu.links"})
"""Facts that differ between the GPUs of a sound node: each is compared with the GPUs of the same index."""
IGNORED = (
    "host.*", "gpu.uuid", "gpu.vram_used_*", "smoke.*", "said.*", "log", "log.*", "tool.*",
    "gpu.ras.*", "gpu.processes", "env.SLURM*", "env.OMPI_*", "env.PMI*", "env.RAY_*", "env.RANK", "env.LOCAL_RANK", "env.MASTER_*",
    "cmdline", "cmdline.BOOT_IMAGE", "cmdline.root", "cmdline.ip", "cmdline.hostname", "pkg.", "env.",
)  # fmt: skip
"""Facts that name a machine, a job or a moment, those that the verdict already speaks of, and those whose parts are compared."""
WITH_FACTS = ("machine", "smoke", "capture")
"""Kinds of reports that hold the facts of a machine; those of one of them are compared."""
LISTED = ("pkg.", "env.", "cmdline.")
"""Listed whole: a member that a report lacks is absent on that machine, not unknown."""
LONGEST = 300
"""Characters of a value that is compared; a longer one is told by its beginning."""


class Cell(NamedTuple):
    """A value that differs from that of the first report; `part`: index of a GPU, -1 for the machine."""

    part: int
    fact: str
    value: Any


class Node(msgspec.Struct):
    """What is kept of a node, or of one report of it. `received`: the collector's clock; `verdicts`: those of its reports;
    `gpus`: how many it has."""

    host: str
    received: float = 0.0
    verdicts: set[str] = set()
    causes: set[tuple[str, str, str]] = set()
    """Root causes: diagnosis, row, severity."""
    cells: list[Cell] | None = None
    """None of a report without facts."""
    gpus: int = 0
    figures: list[tuple[str, NodeFigure]] = []
    """With the name of the GPU that was measured."""


class NodeTable:
    """Nodes by number, and for each fact and value the numbers of the nodes that have it. Valid after `settle`."""

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        self.nodes: list[Node] = []
        self.titles: dict[tuple[str, str, str], str] = {}
        self.silent: dict[str, str] = {}
        self.refused: list[tuple[str, str]] = []
        """Place of each line that cannot be judged and names no node, and why."""
        self._reports: dict[tuple[str, str], Node] = {}
        self._first: dict[int, dict[str, Any]] = {}
        """Facts of the first report, by part."""
        self._cells: dict[Cell, Cell] = {}
        self._compared: dict[str, bool] = {}
        self._ignored = (*IGNORED, *ignore)
        self._usual_gpus = 0
        self._numbers: dict[int, list[int]] = {}
        """Nodes that have each part."""
        self._columns: dict[tuple[str, int], dict[Any, list[int]]] = {}
        """Nodes by value, for each fact and part, without those that have the value of the first report."""

    def add(self, line: ReportLine) -> None:
        """Take in what a node sent. Of two reports of one kind the newer counts: by the collector's clock, else the later one."""
        if line.error and line.host:
            self.silent[line.host] = line.error
        elif line.error:
            self.refused.append((line.place, line.error))
        else:
            key = (line.host, line.kind)
            if key not in self._reports or line.received >= self._reports[key].received:
                self._reports[key] = self._report(line)

    def _report(self, line: ReportLine) -> Node:
        node = Node(line.host, line.received)
        for cause in line.findings:
            if not cause.follows_from:
                cause_key = (cause.id, cause.row, cause.severity)
                node.causes.add(cause_key)
                self.titles.setdefault(cause_key, cause.title[:200] or cause.id)
        if line.snapshot is not None:
            node.verdicts.add(line.verdict)
            if line.kind in WITH_FACTS:
                node.gpus = len(line.snapshot.gpus)
                facts = line.snapshot.facts
                cmdline = facts.get("cmdline", LeanFact()).value
                pairs = (word.partition("=") for word in cmdline.split()) if isinstance(cmdline, str) else ()
                facts |= {f"cmdline.{name}": LeanFact(value or "set") for name, _, value in pairs}
                facts |= {"doctor.version": LeanFact(line.tool_version), "doctor.matrix": LeanFact(line.matrix_version)}
                facts["gpus"] = LeanFact(node.gpus)
                parts = (facts, *(gpu.facts for gpu in line.snapshot.gpus))
                node.cells = [cell for part, facts in enumerate(parts, -1) for cell in self._differences(part, facts)]
        if line.figures:
            devices = {gpu.index: gpu.gfx or gpu.name for gpu in line.gpus}
            node.figures = [(devices.get(figure.gpu, ""), figure) for figure in line.figures if abs(figure.value) < 1e300]
        return node

    def _differences(self, part: int, facts: dict[str, LeanFact]) -> list[Cell]:
        """The facts of a part that are compared and differ from the first report; the same object for the same value."""
        if part not in self._first:
            self._first[part] = {name: fact.value for name, fact in facts.items()}
        first, cells = self._first[part], []
        prefix = "gpu." if part >= 0 else ""
        for name, fact in facts.items():
            try:
                if first[name] == fact.value:
                    continue
            except KeyError:
                pass
            if self._is_compared(prefix + name):
                cells.append(Cell(part, prefix + name, _key(fact.value)))
        if not first.keys() <= facts.keys():
            lacking = (prefix + name for name in first.keys() - facts.keys())
            cells += [Cell(part, fact, _absent(fact)) for fact in lacking if self._is_compared(fact)]
        return [self._cells.setdefault(cell, cell) for cell in cells]

    def _is_compared(self, fact: str) -> bool:
        if fact not in self._compared:
            self._compared[fact] = not any(fnmatchcase(fact, pattern) for pattern in self._ignored)
        return self._compared[fact]

    def settle(self) -> None:
        """From reports to nodes, and from the differences of each to the nodes with each."""
        nodes: dict[str, Node] = {}
        for (host, _), report in self._reports.items():
            node = nodes.setdefault(host, report)
            if node is not report:
                node.verdicts |= report.verdicts
                node.causes |= report.causes
                node.figures = [*node.figures, *report.figures]
                if node.cells is None:
                    node.cells, node.gpus = report.cells, report.gpus
            self.silent.pop(host, None)
        self.nodes = list(nodes.values())
        self._usual_gpus = mode([node.gpus for node in self.nodes if node.cells is not None] or [0])
        for number, node in enumerate(self.nodes):
            for part in range(-1, node.gpus if node.cells is not None else -1):
                self._numbers.setdefault(part, []).append(number)
            for part, fact, value in node.cells or ():
                self._columns.setdefault((fact, part), {}).setdefault(value, []).append(number)

    def differing_facts(self) -> list[str]:
        """Names of the facts in which a node differs from the first, sorted."""
        return sorted({fact for fact, _ in self._columns})

    def groups(self, fact: str) -> list[list[int]]:
        """The parts whose values are compared with each other: the machine, all GPUs, or those of one index."""
        parts = [part for part in self._numbers if (part >= 0) == fact.startswith("gpu.")]
        return [[part] for part in parts] if fact in BY_SLOT else [parts]

    def count(self, fact: str, parts: Iterable[int]) -> Counter[Any]:
        """The values of a fact in these parts, each with its number of nodes or GPUs."""
        counts: Counter[Any] = Counter()
        for part in parts:
            column = {value: len(numbers) for value, numbers in self._columns.get((fact, part), {}).items()}
            counts.update(column)
            counts[self._value_of_first(fact, part)] += len(self._numbers[part]) - sum(column.values())
        return +counts

    def places(self, fact: str, parts: Iterable[int], value: Any) -> list[Place]:
        """Each node and GPU that has the value; by slot, only of nodes with the usual number of GPUs: the indexes of others are shifted."""
        spots: list[Place] = []
        for part in parts:
            column = self._columns.get((fact, part), {})
            numbers = column.get(value, [])
            if value == self._value_of_first(fact, part):
                others = {number for numbers in column.values() for number in numbers}
                numbers = [*numbers, *(number for number in self._numbers[part] if number not in others)]
            spots += [(number, part) for number in numbers if fact not in BY_SLOT or self.nodes[number].gpus == self._usual_gpus]
        return spots

    def values(self, fact: str) -> Iterator[tuple[Any, list[Place]]]:
        """(value, places) for each value of a fact."""
        return ((value, self.places(fact, parts, value)) for parts in self.groups(fact) for value in self.count(fact, parts))

    def _value_of_first(self, fact: str, part: int) -> Any:
        name = fact.partition("gpu.")[2] if part >= 0 else fact
        first = self._first.get(part, {})
        return _key(first[name]) if name in first else _absent(fact)


def _absent(fact: str) -> Any:
    """The value of a fact that is not in a report."""
    return None if fact.startswith(LISTED) else NOT_PROBED


def _key(value: Any) -> Any:
    """A value to compare: short, and an unknown one by its reason."""
    text = ", ".join(value) if isinstance(value, tuple) else value
    if isinstance(text, str):
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return Unknown(text.why) if isinstance(text, Unknown) else text
