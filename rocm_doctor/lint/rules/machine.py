"""The rules and rows for machines, asked of the facts that the text of an environment gives."""

from __future__ import annotations

from collections.abc import Iterator, Set

from rocm_doctor.lint.facts import make_snapshot
from rocm_doctor.lint.model import LISTS, Place, Problem
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.torch import Torch
from rocm_doctor.lint.wheels import WITH_CODE, rows_by_version
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Reading
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs

_KNOWN = frozenset((
    "platform", "rocm.version", "driver.version", "python.version", "torch.version", "torch.build", "torch.rocm", "torch.release",
    "rocm.loaded", "torch.family", "torch.expandable_segments", "gpu.gfx", "gpu.family", "gpu.wavefront_size", "gpu.is_apu",
))  # fmt: skip
_OF_MACHINES = ("access.", "platform.", "hw.", "arch.not-listed", "version.torch-not-rocm")
"""Judged by what only a machine says, about the target alone, or by a rule of lint's own."""


def machine_rules(case: LintCase) -> Iterator[Problem]:
    """What the rules for machines say of what an environment declares."""
    environment = case.environment
    is_plain_list = case.audience == "neutral" and environment.kind in LISTS
    is_for_amd = case.is_amd or case.audience == "main" or is_plain_list
    if not is_for_amd or not (environment.steps or environment.variables or environment.image):
        return
    facts = make_snapshot(environment, case.torch, case.target, case.matrix)
    findings, _ = judge(facts, Logs(()), _narrow_rows(case.matrix, facts.facts.keys()), RULES)
    for finding in findings:
        ours = [r for r in finding.evidence if _is_from_file(r)]
        if not ours or finding.id.startswith(_OF_MACHINES) or finding.follows_from:
            continue
        stops = finding.severity == "error" and finding.status != "wrong" and finding.confidence != "low"
        if is_plain_list and not stops:
            continue
        places = tuple(Place(r.artifact, int(r.place.removeprefix("line ")), r.quote) for r in ours)
        torch = case.torch if isinstance(case.torch, Torch) and case.torch.vendor == "rocm" else None
        literal = torch is None or torch.place not in places or torch.is_literal
        yield case.problem(
            finding.id, finding.title, finding.cause, places, row=finding.row, is_literal=literal,
            key=(places[0].file, str(places[0].line), case.target.gpu if any(r.origin == "target" for r in finding.evidence) else ""),
            effect="stops" if stops else "informs" if finding.severity == "note" else "harms", sources=finding.sources, grade=finding.grade,
            hints=("Remove the variable.",) if finding.id in _OF_OVERRIDES else (),
        )  # fmt: skip


def _is_from_file(reading: Reading) -> bool:
    return reading.origin == "text" and reading.place.startswith("line ")


def _narrow_rows(matrix: Matrix, facts: Set[str]) -> Matrix:
    """The matrix with the rows that may hold for these facts; one matrix for each set of rows."""
    rows = tuple(row for needs, row in matrix.once(_decidable_rows) if needs <= facts)
    kept = matrix.once(_matrices)
    key = frozenset(row.key for row in rows)
    if key not in kept:
        kept[key] = matrix.replace_rows(rows)
    return kept[key]


def _matrices(_: Matrix) -> dict[frozenset[str], Matrix]:
    """The matrices that were made, by the keys of their rows."""
    return {}


def _decidable_rows(matrix: Matrix) -> tuple[tuple[frozenset[str], Row], ...]:
    """(facts, row) for each row that the facts of files decide; the row cannot hold without these facts."""
    rows = (row for row in rows_by_version(matrix, WITH_CODE) if all(_is_known(name) for name in row.when))
    return tuple((frozenset(name for name, value in row.when.items() if _needs(name, value)), row) for row in rows)


def _needs(name: str, value: str) -> bool:
    """True for a condition that an absent fact does not meet; the GPU's facts are always there."""
    return not name.startswith("gpu.") and not value.startswith("!") and "absent" not in value


def _is_known(name: str) -> bool:
    return name in _KNOWN or name.startswith(("pkg.", "env."))


_OF_OVERRIDES = ("arch.override-wrong", "arch.override-pointless")
