"""Judgements that a row of the matrix cannot express, one file per family. RULES lists those that run, in order."""

from __future__ import annotations

from rocm_doctor.rules.access import access
from rocm_doctor.rules.arch import code_for_the_card, igpu_beside_dgpu
from rocm_doctor.rules.code import extensions_without_code, foreign_rocm, torch_without_device_code
from rocm_doctor.rules.driver_range import driver_range
from rocm_doctor.rules.engine import Rule
from rocm_doctor.rules.frameworks import no_framework
from rocm_doctor.rules.override import override, override_hides_gpu
from rocm_doctor.rules.rocm_family import rocm_of_the_family
from rocm_doctor.rules.support import unlisted_targets
from rocm_doctor.rules.versions import companions, torch_not_rocm
from rocm_doctor.rules.visible import hidden_gpus, visible_devices

RULES: tuple[Rule, ...] = (
    access,
    visible_devices,
    torch_not_rocm,
    no_framework,
    code_for_the_card,
    torch_without_device_code,
    extensions_without_code,
    foreign_rocm,
    override,
    override_hides_gpu,
    igpu_beside_dgpu,
    companions,
    rocm_of_the_family,
    driver_range,
    unlisted_targets,
    hidden_gpus,
)
