"""Rules: each is a function `rule(case) -> Iterator[Problem]`. To add one, write it and add it to this table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.build_targets import build_lists, index_for_others, libraries
from rocm_doctor.lint.rules.case import Case
from rocm_doctor.lint.rules.companions import companions
from rocm_doctor.lint.rules.containers import devices, hidden_gpus
from rocm_doctor.lint.rules.machine import machine_rules
from rocm_doctor.lint.rules.packages import cuda_only, not_for_linux, not_on_index, without_wheel
from rocm_doctor.lint.rules.text import faults
from rocm_doctor.lint.rules.torch_build import base_image, image_too_old, torch_build
from rocm_doctor.lint.rules.training import training

Rule = Callable[[Case], Iterator[Problem]]
RULES: tuple[Rule, ...] = (
    torch_build,
    base_image,
    image_too_old,
    companions,
    build_lists,
    index_for_others,
    libraries,
    machine_rules,
    hidden_gpus,
    devices,
    cuda_only,
    not_for_linux,
    not_on_index,
    without_wheel,
    training,
    faults,
)
