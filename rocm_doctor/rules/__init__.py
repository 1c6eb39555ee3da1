"""Judgements that a row of the matrix cannot say, one file per family. This table is what runs, in this order."""

from __future__ import annotations

from rocm_doctor.rules.access import access
from rocm_doctor.rules.arch import code_for_the_card, igpu_beside_dgpu
from rocm_doctor.rules.engine import Rule
from rocm_doctor.rules.override import override
from rocm_doctor.rules.visible import visible_devices

RULES: tuple[Rule, ...] = (
    access,
    visible_devices,
    code_for_the_card,
    override,
    igpu_beside_dgpu,
)
