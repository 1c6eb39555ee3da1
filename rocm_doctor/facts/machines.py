"""Grouping of snapshots by machine: by host, GPU serials and addresses.

A whole capture (a bundle, a report) is its own machine unless a fact shows that it is the same as another. A part (one tool's
output, a log) goes to the machine that it does not contradict, if there is only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocm_doctor.facts.match_gpus import are_of_two_machines, have_same, value
from rocm_doctor.model import Gpu, Snapshot


class Capture(NamedTuple):
    """One input: its name, the facts read in it, and `whole`: it captures a machine (bundle, report), not one tool's output or a
    log."""

    name: str
    snapshot: Snapshot
    whole: bool


def group_captures(captures: Sequence[Capture]) -> list[list[int]]:
    """Indices of the captures of each machine, in the order of the first."""
    groups: list[list[int]] = []
    for n in sorted(range(len(captures)), key=lambda n: not captures[n].whole):
        answers = [_belongs_to_group(captures, group, n) for group in groups]
        open_ones = [group for group, answer in zip(groups, answers) if answer is None]
        known = next((group for group, answer in zip(groups, answers) if answer), None)
        if known is None and not captures[n].whole and len(open_ones) == 1:
            known = open_ones[0]
        if known is None:
            groups.append([n])
        else:
            known.append(n)
    return sorted((sorted(group) for group in groups), key=lambda group: group[0])


def _belongs_to_group(captures: Sequence[Capture], group: Sequence[int], n: int) -> bool | None:
    """True or False if a fact shows whether a capture is of the group's machine, else None."""
    answers = [_are_one_machine(captures[m].snapshot, captures[n].snapshot) for m in group]
    return False if False in answers else True if True in answers else None


def _are_one_machine(one: Snapshot, other: Snapshot) -> bool | None:
    for name in ("host.id", "host.hostname"):
        ids = [one.get(name).value, other.get(name).value]
        if all(isinstance(id_, str) for id_ in ids):
            return str(ids[0]).casefold() == str(ids[1]).casefold()
    serials = [{s for gpu in snapshot.gpus if (s := _serial(gpu))} for snapshot in (one, other)]
    if all(serials):
        return bool(serials[0] & serials[1])
    pairs = [(a.facts, b.facts) for a in one.gpus for b in other.gpus if have_same(a.facts, b.facts, "pci_bdf")]
    return False if any(are_of_two_machines(a, b) for a, b in pairs) or _are_disjoint(one, other) else None


def _are_disjoint(one: Snapshot, other: Snapshot) -> bool:
    """True if both list their GPUs with address and chip, and no GPU of one is a GPU of the other."""
    listed = [(a.facts, b.facts) for a in one.gpus for b in other.gpus]
    return (
        one.gpus_listed
        and other.gpus_listed
        and bool(listed)
        and all(
            None not in (value(a, "device_id"), value(b, "device_id"))
            and None not in (value(a, "pci_bdf"), value(b, "pci_bdf"))
            and not have_same(a, b, "pci_bdf")
            and not have_same(a, b, "device_id")
            for a, b in listed
        )
    )


def _serial(gpu: Gpu) -> str:
    """A GPU's serial; rocminfo prints `GPU-XX` for one without."""
    found = str(value(gpu.facts, "uuid") or "").casefold()
    return found if found and not found.startswith("gpu-xx") else ""
