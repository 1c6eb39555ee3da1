"""Solved reports that read like this one: shown with their address, and taken for the cure where nothing better is known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Likely, Similar, Snapshot

SHOWN = 0.36
"""Likeness from which on a solved report is shown. On threads kept for testing 93 % of these have the diagnosis of the thread."""
CURES = 0.45
"""Likeness from which on its fix is the fix, where no condition of a cure chose a better one."""
_GENERAL = ("none", "no cure", "not seen")
"""How the fix of a report begins that found none."""


def add_solved(findings: Sequence[Finding], likely: Sequence[Likely], snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    """The findings, the first one with the solved reports of its diagnosis that no fact contradicts."""
    first = next((n for n, one in enumerate(findings) if one.severity != "note" and not one.follows_from), None)
    if first is None:
        return list(findings)
    found = list(findings)
    one = found[first]
    near = tuple(
        s for of in likely for s in of.similar if s.label == one.id and s.likeness >= SHOWN and _possible(s, snapshot, matrix)
    )
    if near:
        found[first] = _take_fix(one, near, matrix)
    return found


def _possible(report: Similar, snapshot: Snapshot, matrix: Matrix) -> bool:
    """False if the report is about GPUs of other families than this machine's."""
    here = {family for gpu in snapshot.gpus if isinstance(family := gpu.get("family").value, str)}
    there = {matrix.gfx[gfx].family for gfx in report.gfx if gfx in matrix.gfx}
    return not here or not there or not here.isdisjoint(there)


def _take_fix(one: Finding, near: tuple[Similar, ...], matrix: Matrix) -> Finding:
    """The finding with these reports; with the fix of the nearest where it is near enough and nothing but a general cure is known."""
    best, cure = near[0], next((c for c in matrix.cures if c.key == one.cure), None)
    chosen = (cure is not None and bool(cure.when)) or one.confidence == "high"
    if best.likeness < CURES or chosen or best.fix.casefold().startswith(_GENERAL):
        return msgspec.structs.replace(one, solved=near)
    advice = f"{best.fix} (the fix of a solved report like this one) Else: {one.advice}"
    return msgspec.structs.replace(one, solved=near, advice=advice)
