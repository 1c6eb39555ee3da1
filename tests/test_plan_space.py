"""Self-consistency: a plan passes `check` on the machine it was made for. A sample here, the whole in scripts/plan_space.py."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.matrix import load
from rocm_doctor.plan.catalog import Catalog, System, load_catalog
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.search import Resolver

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "plan_space.py"


@cache
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plan_space", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["plan_space"] = module
    spec.loader.exec_module(module)
    return module


@cache
def known_of() -> Catalog:
    return load_catalog(load())


@given(data=st.data())
def test_a_plan_passes_check(data: st.DataObject) -> None:
    space = script()
    gfx = data.draw(st.sampled_from(sorted(known_of().matrix.gfx)))
    system: System = data.draw(st.sampled_from(space.SYSTEMS))
    machine = declare_machine(
        gfx,
        data.draw(st.sampled_from(space.PYTHONS)),
        known_of().matrix,
        system,
        data.draw(st.sampled_from(space.DRIVERS[system])),
    )
    resolver = Resolver(machine, known_of(), data.draw(st.sampled_from(space.WISHES)))
    first = next(resolver.stacks(), None)
    if first is None:
        assert len(resolver.rejected) == len(known_of().matrix.torch)
        assert all(r.why for r in resolver.rejected)
    else:
        assert space.complaints(first, machine, known_of()) == []


def test_the_check_of_the_sample_can_fail() -> None:
    """gfx906 with a build whose rocBLAS lacks it: the same judgement must complain."""
    import msgspec

    machine = declare_machine("gfx906", "3.12", known_of().matrix)
    good = next(Resolver(machine, known_of()).stacks())
    bad = next(b for b in known_of().matrix.torch if b.local == "2.9.1+rocm6.4")
    wrong = msgspec.structs.replace(good, candidate=msgspec.structs.replace(good.candidate, build=bad))
    assert script().complaints(wrong, machine, known_of())


@pytest.mark.slow
def test_one_target_whole() -> None:
    result = script().of_target("gfx1030", known_of())
    assert result.plans == 360
    assert result.failures == []
