"""Solved reports that read like a text, shown with their address, cause and fix."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Likely, Similar, Snapshot

SHOWN = 0.28
"""Likeness from which on a solved report is shown. On threads kept for testing 94 % of these have the diagnosis of the thread."""
MOST = 3


def near_reports(
    near: Sequence[Similar], findings: Sequence[Finding], likely: Sequence[Likely], snapshot: Snapshot, matrix: Matrix
) -> tuple[Similar, ...]:
    """The reports that are near enough, of the diagnosis of the first finding (without one, the likeliest), and that no fact contradicts."""
    diagnoses = [finding.id for finding in findings if finding.severity != "note" and finding.leads] or [
        report.id for report in likely if report.title
    ]
    alike = (s for s in near if s.likeness >= SHOWN and s.label in diagnoses[:1])
    return tuple(s for s in alike if _possible(s, snapshot, matrix))[:MOST]


def _possible(report: Similar, snapshot: Snapshot, matrix: Matrix) -> bool:
    """False if the report is about GPUs of other families than this machine's."""
    here = {family for gpu in snapshot.gpus if isinstance(family := gpu.value("family"), str)}
    there = {matrix.gfx[gfx].family for gfx in report.gfx if gfx in matrix.gfx}
    return not here or not there or not here.isdisjoint(there)
