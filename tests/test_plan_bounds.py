"""Bounds of a plan, exactly at the bound: the C library that a wheel asks for, and the ROCm from which WSL needs no variable."""

from __future__ import annotations

from functools import cache

import pytest
from matrix_machines import MATRIX

from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import System, load_catalog
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.versions import release


@cache
def plan_for(system: System, glibc: str = "") -> Plan:
    return answer(declare_machine("gfx1100", "3.12", MATRIX, system, glibc=glibc), load_catalog(MATRIX))


@pytest.mark.parametrize(("glibc", "refused"), [("2.17", True), ("2.27", True), ("2.28", False), ("2.39", False), ("3.0", False)])
def test_the_oldest_c_library_that_a_wheel_takes_is_taken(glibc: str, refused: bool) -> None:
    assert any("glibc 2.28" in one.why for one in plan_for("linux", glibc).rejected) is refused


def test_the_variable_for_wsl_ends_with_rocm_10_1() -> None:
    seen = {
        (release(s.candidate.build.rocm) or ())[:2]: "HSA_ENABLE_DXG_DETECTION" in s.candidate.env for s in plan_for("wsl").stacks
    }
    assert {rocm: rocm < (10, 1) for rocm in seen} == seen
    assert set(seen.values()) == {True, False}


def test_the_variable_for_wsl_is_for_wsl() -> None:
    assert not any("HSA_ENABLE_DXG_DETECTION" in s.candidate.env for s in plan_for("linux").stacks)
