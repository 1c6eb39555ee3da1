"""Claims for and against a build: the better grade decides, and an equal one against it does."""

from __future__ import annotations

import datetime
from typing import Literal

import msgspec
import pytest

from rocm_doctor.matrix import Support, load
from rocm_doctor.model import Grade
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.plan.machine import declare_machine

MATRIX = load()


def claim(state: Literal["works-unofficially", "broken"], grade: Grade) -> Support:
    return Support(
        key=f"{state}-{grade}", layer="runtime", words="invented", gfx=("gfx1100",), os="linux", state=state, since="5.0", until="99", grade=grade, sources=("https://example.org",),
        checked=datetime.date(2026, 11, 22),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("good", "bad", "planned"),
    [("field", "field", False), ("upstream", "field", True), ("field", "upstream", False), ("official", "official", False)],
)
def test_of_two_claims_the_better_grade_decides_and_of_equals_the_one_against(good: Grade, bad: Grade, planned: bool) -> None:
    support = msgspec.json.encode((claim("works-unofficially", good), claim("broken", bad)))
    matrix = msgspec.structs.replace(MATRIX, rows=(), raw={**MATRIX.raw, "support": support})
    plan = answer(declare_machine("gfx1100", "3.12", matrix), load_catalog(matrix))
    assert bool(plan.stacks) is planned
    assert planned or any("is broken" in one.why for one in plan.rejected)
