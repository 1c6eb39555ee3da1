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
    for one in sorted(findings, key=_severe_first):
        said = one.title * (one.severity == "note" or one.subject_kind == "environment")
        unique.setdefault((one.id, one.row or said, one.subject), one)
    ordered = list(unique.values())
    roots = _roots(ordered, matrix)
    tied = [msgspec.structs.replace(f, follows_from=ordered[r].row or ordered[r].id) if r != n else f for n, (f, r) in
            enumerate(zip(ordered, roots))]  # fmt: skip
    return sorted((_join_echoes(f, tied) for f in tied), key=lambda f: (bool(f.follows_from), *_severe_first(f)))


def _roots(ordered: Sequence[Finding], matrix: Matrix) -> list[int]:
    """The index of each finding's root cause (its own without one). Of two that name each other the first wins."""
    roots = list(range(len(ordered)))
    for place, one in enumerate(ordered):
        for cause in _causes(one, place, ordered, matrix):
            if roots[cause] != place:
                roots = [roots[cause] if root == place else root for root in roots]
                break
    return roots


def _causes(one: Finding, place: int, ordered: Sequence[Finding], matrix: Matrix) -> list[int]:
    """Indices of a finding's causes: those in its row's `after` that are at least as severe, then equal findings before it.

    Two notes of one diagnosis are two facts: a lowered power limit does not explain memory in use. So are two findings on one
    environment of a repository.
    """
    row = matrix.row(one.row) if one.row else None
    after = set(row.after) if row else _root_diagnoses(one.id, matrix)
    named = [n for n, f in enumerate(ordered) if n != place and (f.id in after or f.row in after)]
    same = [
        n
        for n, f in enumerate(ordered[:place])
        if f.id == one.id
        and (f.subject == one.subject or not (f.subject and one.subject))
        and (f.title == one.title or (f.severity != "note" and f.subject_kind != "environment"))
    ]
    named += _missing_code_findings(one, ordered)
    return [n for n in named if RANK[ordered[n].severity] <= RANK[one.severity]] + same


def _missing_code_findings(one: Finding, ordered: Sequence[Finding]) -> list[int]:
    """Indices of the findings that torch has no code for the GPU of this row's finding, which then follows from them; empty for
    rows about architecture, access or versions."""
    if not one.row or one.subject_kind != "gpu" or one.id.startswith(("arch.", "access.", "version.")):
        return []
    ids = ("arch.not-in-build", "arch.override-needed")
    return [n for n, f in enumerate(ordered) if f.id in ids and f.subject == one.subject and f.confidence != "low"]


def _root_diagnoses(diagnosis: str, matrix: Matrix) -> set[str]:
    """Ids and keys that a finding of a Python rule follows from: the `after` of its diagnosis and, for access, where one thing
    bars the next, of the rows of that diagnosis."""
    known, rows = matrix.diagnoses.get(diagnosis), matrix.rows if diagnosis.startswith("access.") else ()
    return {*(known.after if known else ())} | {name for row in rows if row.diagnosis == diagnosis for name in row.after}


def _join_echoes(one: Finding, tied: Sequence[Finding]) -> Finding:
    """The finding with the readings of the findings of the same diagnosis that follow from it."""
    echoes = [r for f in tied if f.id == one.id and f.follows_from and f.follows_from == (one.row or one.id) for r in f.evidence]
    return msgspec.structs.replace(one, evidence=tuple(dict.fromkeys((*one.evidence, *echoes)))) if echoes else one


def _severe_first(one: Finding) -> tuple[int, bool, int]:
    """The severity's rank; among errors, wrong results come first, because nothing else shows them."""
    return (RANK[one.severity], one.status != "wrong", RANK[one.confidence])
