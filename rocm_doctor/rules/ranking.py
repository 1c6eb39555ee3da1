"""The order of findings: each once, tied to the finding that causes it, root causes first, then by severity and confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

RANK = {"error": 0, "warning": 1, "note": 2, "high": 0, "medium": 1, "low": 2}
"""Places of severities and of confidences, the most severe and the surest first."""


def rank(findings: Iterable[Finding], matrix: Matrix) -> list[Finding]:
    """Each finding once, with its root cause: root causes first, then by severity and confidence."""
    unique: dict[tuple[str, str, str], Finding] = {}
    for finding in sorted(findings, key=_severe_first):
        title = finding.title * (finding.severity == "note" or finding.subject_kind == "environment")
        unique.setdefault((finding.id, finding.row or title, finding.subject), finding)
    ordered = list(unique.values())
    roots = _roots(ordered, matrix)
    tied = [msgspec.structs.replace(f, follows_from=ordered[r].row or ordered[r].id) if r != n else f for n, (f, r) in
            enumerate(zip(ordered, roots))]  # fmt: skip
    return sorted((_join_echoes(f, tied) for f in tied), key=_roots_first)


def free_followers(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are left after some were taken out, in the order of `rank`. A finding whose cause was taken out becomes a
    root cause."""
    left = list(findings)
    roots = {finding.row or finding.id for finding in left if finding.leads}
    freed = (f if f.follows_from in roots else msgspec.structs.replace(f, follows_from="") for f in left)
    return sorted(freed, key=_roots_first)


def _roots(ordered: Sequence[Finding], matrix: Matrix) -> list[int]:
    """By the index of a finding, that of its root cause; its own if it has none. Of two that name each other the first is the
    root."""
    roots = list(range(len(ordered)))
    for place, finding in enumerate(ordered):
        for cause in _causes(finding, place, ordered, matrix):
            if roots[cause] != place:
                roots = [roots[cause] if root == place else root for root in roots]
                break
    return roots


def _causes(finding: Finding, place: int, ordered: Sequence[Finding], matrix: Matrix) -> list[int]:
    """Indices of a finding's causes: findings in its row's `after` that are at least as severe, then equal findings before it.
    Two notes of one diagnosis are two facts: a lowered power limit does not explain memory in use. So are two findings on one
    environment of a repository."""
    row = matrix.row(finding.row) if finding.row else None
    after = set(row.after) if row else _root_diagnoses(finding.id, matrix)
    causes = [n for n, f in enumerate(ordered) if n != place and (f.id in after or f.row in after)]
    same = [
        n
        for n, f in enumerate(ordered[:place])
        if f.id == finding.id
        and (f.subject == finding.subject or not (f.subject and finding.subject))
        and (f.title == finding.title or (f.severity != "note" and f.subject_kind != "environment"))
    ]
    causes += _missing_code_findings(finding, ordered)
    return [n for n in causes if RANK[ordered[n].severity] <= RANK[finding.severity]] + same


def _missing_code_findings(finding: Finding, ordered: Sequence[Finding]) -> list[int]:
    """Indices of the findings that torch has no code for the GPU of this row's finding, which then follows from them; empty for
    rows about architecture, access or versions."""
    if not finding.row or finding.subject_kind != "gpu" or finding.id.startswith(("arch.", "access.", "version.")):
        return []
    ids = ("arch.not-in-build", "arch.override-needed")
    return [n for n, f in enumerate(ordered) if f.id in ids and f.subject == finding.subject and f.confidence != "low"]


def _root_diagnoses(diagnosis: str, matrix: Matrix) -> set[str]:
    """Ids and keys that a finding of a Python rule follows from: the `after` of its diagnosis and, for access, where one thing
    bars the next, of the rows of that diagnosis."""
    entry, rows = matrix.diagnoses.get(diagnosis), matrix.rows if diagnosis.startswith("access.") else ()
    return {*(entry.after if entry else ())} | {name for row in rows if row.diagnosis == diagnosis for name in row.after}


def _join_echoes(finding: Finding, tied: Sequence[Finding]) -> Finding:
    """The finding with the readings of the findings of the same diagnosis that follow from it."""
    echoes = [
        r
        for f in tied
        if f.id == finding.id and f.follows_from and f.follows_from == (finding.row or finding.id)
        for r in f.evidence
    ]
    return msgspec.structs.replace(finding, evidence=tuple(dict.fromkeys((*finding.evidence, *echoes)))) if echoes else finding


def _roots_first(finding: Finding) -> tuple[bool, int, bool, int]:
    return (not finding.leads, *_severe_first(finding))


def _severe_first(finding: Finding) -> tuple[int, bool, int]:
    """A sort key: the severity, then wrong results, because nothing else shows them, then the confidence."""
    return (RANK[finding.severity], finding.status != "wrong", RANK[finding.confidence])
