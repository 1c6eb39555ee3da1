"""Which problems are reported: one for each cause, and none that the repository or the command line accepts."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.lint.model import ACCEPTED, FAILS, Environment, LintTarget, Place, Problem

if TYPE_CHECKING:
    from rocm_doctor.lint.judge import Result


def accept(result: Result, today: datetime.date, ignore: Sequence[str] = ()) -> Result:
    """The result without what is ignored, by the policy or by ids, rows and paths of the command line; an ignore whose day has come, or that
    fits nothing, is a note."""
    kept, used = [], set()
    for problem in result.problems:
        words = (problem.id, problem.row, f"{problem.id}:{problem.row}")
        fitting = [
            i
            for i in result.policy.ignores
            if i.id in words and (not i.file or any(fnmatchcase(p.file, i.file) for p in problem.places))
        ]
        used.update(fitting)
        given = any(word in words or any(fnmatchcase(p.file, word) for p in problem.places) for word in ignore)
        if not given and not any(today < i.until for i in fitting):
            kept.append(problem)
    own = Environment("policy", Place("rocm-doctor.yaml", 1))
    target = result.targets[0] if result.targets else LintTarget("any")
    for i in result.policy.ignores:
        if i not in used or today >= i.until:
            title = f"the ignore of {i.id} ended on {i.until}" if today >= i.until else f"the ignore of {i.id} fits no finding"
            kept.append(Problem("repo.stale-ignore", title, f"Its reason was: {i.reason}.", (i.place,), own, target))
    failing = {(p.environment.name, gpu) for p in kept if p.severity == "error" for gpu in p.gpus}
    dropped = [p for p in result.problems if p not in kept]
    rows = []
    for row in result.rows if dropped else ():
        accepted = {gpu for gpu, cell in row.cells.items() if cell == FAILS and (row.environment.name, gpu) not in failing}
        rows.append(row._replace(cells={**row.cells, **dict.fromkeys(accepted, ACCEPTED)}))
    return result._replace(problems=tuple(kept), accepted_count=len(dropped), rows=tuple(rows) if dropped else result.rows)


_ORDER = ("error", "warning", "note")


def fold(problems: Iterable[Problem]) -> list[Problem]:
    """One problem for each cause and severity: the gravest of it, with the places of all; ordered by severity, file and line."""
    groups: dict[tuple[object, ...], list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.cause_key, []).append(problem)
    kept = []
    for group in groups.values():
        first = min(group, key=lambda p: _ORDER.index(p.severity))
        places = tuple(dict.fromkeys(place for p in (first, *group) for place in p.places))
        gpus = tuple(dict.fromkeys(p.target.gpu for p in group if p.target.gpu))
        kept.append(msgspec.structs.replace(first, places=places, gpus=gpus))
    return sorted(kept, key=lambda p: (_ORDER.index(p.severity), p.places[0].file, p.places[0].line, p.id, p.gpus))
