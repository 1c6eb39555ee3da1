"""Rules: each is a function from a case to the problems that it finds. To add one, write it and add it to this table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.build_targets import build_lists, libraries
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.rules.containers import devices, hidden_gpus
from rocm_doctor.lint.rules.machine import machine_rules
from rocm_doctor.lint.rules.packages import cuda_only, not_for_linux, not_on_index
from rocm_doctor.lint.rules.torch_build import base_image, torch_build


class LintRule(NamedTuple):
    """A rule. `needs_gpu`: it compares with the GPU of the target, and is not asked where no target is given."""

    find: Callable[[LintCase], Iterator[Problem]]
    needs_gpu: bool = False


_FORMAT = "https://pip.pypa.io/en/stable/reference/requirements-file-format/"


def faults(case: LintCase) -> Iterator[Problem]:
    """`repo.unreadable` for each fault of an environment for AMD."""
    for fault in case.environment.faults if case.is_amd else ():
        yield case.problem(
            "repo.unreadable",
            fault.title,
            fault.cause,
            (fault.place,),
            key=(fault.kind, fault.place.file),  # one cause for each file
            sources=(_FORMAT,),
        )


RULES = (
    LintRule(torch_build),
    LintRule(base_image),
    LintRule(build_lists, needs_gpu=True),
    LintRule(libraries, needs_gpu=True),
    LintRule(machine_rules, needs_gpu=True),
    LintRule(hidden_gpus),
    LintRule(devices),
    LintRule(cuda_only),
    LintRule(not_for_linux),
    LintRule(not_on_index),
    LintRule(faults),
)
