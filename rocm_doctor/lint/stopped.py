"""What is found of a torch that is never installed, as the same words ask for something that their index certainly does not have."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_doctor.lint.rules.installing import STOPS_FOR
from rocm_doctor.lint.rules.not_found import ON_NO_INDEX
from rocm_doctor.lint.rules.torch_build import NO_TORCH
from rocm_doctor.lint.weighing import Judged
from rocm_doctor.model import Reading

# What is found of the torch itself.
_OF_TORCH = ("arch.blas-missing", "arch.dropped-by-rocm", "arch.not-in-build", "version.torch-not-rocm")


def behind(judged: Iterable[Judged]) -> list[Judged]:
    """The findings; those on the torch of a line that certainly ends are warnings: what ends it comes first, and the line is written
    anew. In a list the torch has a line of its own, which stays. So are those of an environment whose project is not installed, and what its
    index lacks in code where no torch can be installed.
    """
    every = list(judged)
    errors = [j for j in every if j.finding.severity == "error"]
    ends = {_where(j) for j in errors if j.finding.title.endswith(ON_NO_INDEX)}
    unmade = {_where(j)[:2] for j in errors if STOPS_FOR in j.finding.title}
    torchless = {_where(j)[:2] for j in errors if j.finding.title.startswith(NO_TORCH)}

    def comes_later(one: Judged) -> bool:
        where = _where(one)
        no_code = one.finding.id.startswith("arch.") and where[:2] in torchless
        return one.finding.id in _OF_TORCH and (no_code or where in ends or where[:2] in unmade)

    return [_lowered(j) if comes_later(j) else j for j in every]


def _where(one: Judged) -> tuple[str, object, str, str]:
    first = next(iter(one.finding.evidence), Reading("", ""))
    return one.environment.name, one.target, first.artifact, first.place


def _lowered(one: Judged) -> Judged:
    worst = one.finding.severity == "error"
    return msgspec.structs.replace(one, finding=msgspec.structs.replace(one.finding, severity="warning")) if worst else one
