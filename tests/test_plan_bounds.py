"""Bounds of a plan, exactly at the bound: the ROCm from which WSL needs no variable."""

from __future__ import annotations

from functools import cache

from matrix_machines import MATRIX

from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import System, load_catalog
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.versions import release


@cache
def plan_for(system: System) -> Plan:
    return answer(declare_machine("gfx1100", "3.12", MATRIX, system), load_catalog(MATRIX))


def test_the_variable_for_wsl_ends_with_rocm_10_1() -> None:
    seen = {
        (release(s.candidate.build.rocm) or ())[:2]: "HSA_ENABLE_DXG_DETECTION" in s.candidate.env for s in plan_for("wsl").stacks
    }
    assert {rocm: rocm < (10, 1) for rocm in seen} == seen
    assert set(seen.values()) == {True, False}


def test_the_variable_for_wsl_is_for_wsl() -> None:
    assert not any("HSA_ENABLE_DXG_DETECTION" in s.candidate.env for s in plan_for("linux").stacks)
