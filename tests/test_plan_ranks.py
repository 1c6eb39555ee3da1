"""What `plan` weighs, one thing at a time: the order of candidates, needs in both directions, companions, reasons against."""

from __future__ import annotations

import datetime
from itertools import pairwise

import msgspec
import pytest

from rocm_doctor.matrix import TorchBuild, load
from rocm_doctor.model import GRADES, Fact, Grade, Snapshot
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.candidates import Candidate, rank
from rocm_doctor.plan.catalog import Catalog, WheelIndex, load_catalog
from rocm_doctor.plan.evidence import Claim
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.rules.build import is_unseen
from rocm_doctor.rules.code import foreign_rocm

MATRIX = load()
KNOWN: Catalog = load_catalog(MATRIX)
BUILD = TorchBuild(
    "2.9.1+rocm6.3",
    "2.9.1",
    "6.3",
    "https://x/",
    "bundled",
    "observed",
    sources=("https://x/",),
    grade="field",
    checked=datetime.date(2026, 11, 1),
)
INDEX = WheelIndex("x", "https://x/", "index")


def candidate(
    grade: Grade = "field",
    *,
    nightly: bool = False,
    run: bool = False,
    extras: bool = False,
    sibling: bool = False,
    **build: object,
) -> Candidate:
    said = (Claim(grade, "w", "https://x/", known_good=run),)
    index = msgspec.structs.replace(INDEX, nightly=nightly, extras=extras)
    override = MATRIX.gfx["gfx1031"].overrides[0] if sibling else None
    return Candidate(msgspec.structs.replace(BUILD, **build), index, grade, said, override)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (candidate("field"), candidate("official", nightly=True)),
        *((candidate(better), candidate(worse)) for better, worse in pairwise(GRADES)),
        (candidate(evidence="listed"), candidate(evidence="inferred")),
        (candidate(evidence="observed"), candidate(evidence="build matrix")),
        (candidate(evidence="inferred", primary=True), candidate(evidence="inferred")),
        (candidate(primary=True), candidate()),
        (candidate(run=True), candidate()),
        (candidate(torch="2.10.0"), candidate(torch="2.9.1")),
        (candidate(), candidate(extras=True)),
        (candidate(rocm="10.0"), candidate(rocm="7.2")),
        # each thing outweighs those behind it
        (candidate("upstream"), candidate("official", evidence="inferred")),
        (candidate("field", nightly=True), candidate("field", sibling=True)),
        (candidate(evidence="observed", torch="2.8.0"), candidate(evidence="inferred", torch="2.9.1")),
        (candidate(primary=True, torch="2.8.0"), candidate(torch="2.9.1")),
        (candidate(torch="2.10.0", extras=True, rocm="6.3"), candidate(torch="2.9.1", rocm="10.0")),
    ],
)
def test_the_order_of_candidates(first: Candidate, second: Candidate) -> None:
    assert rank(first) < rank(second)


def test_a_wheel_is_unseen_when_it_follows_from_others_only() -> None:
    assert [is_unseen(candidate(evidence=e).build) for e in ("listed", "observed", "inferred", "build matrix")] == [
        False,
        False,
        True,
        True,
    ]
    assert not is_unseen(candidate(evidence="inferred", primary=True).build)


@pytest.mark.parametrize(("hip", "soname", "other"), [
    ("6.3.42134", "libamdhip64.so.6", False),
    ("6.3.42134", "libamdhip64.so.7", True),
    ("6.3.42134", "libamdhip64.so.5", True),
    ("7.2.53211", "libamdhip64.so.7", False),
    ("7.2.53211", "libamdhip64.so.6", True),
    ("7.16.26385", "libamdhip64.so.7", False),
    ("5.7.31921", "librocblas.so.3", False),
    ("5.7.31921", "librocblas.so.4", True),
    ("6.3.42134", "libunknown.so.1", False),
])  # fmt: skip
def test_library_names_belong_to_a_hip_major(hip: str, soname: str, other: bool) -> None:
    made = Snapshot({"torch.hip": Fact(hip), "soname.xformers": Fact((soname,))})
    assert bool(list(foreign_rocm(made, MATRIX))) is other


def test_every_library_name_has_its_majors() -> None:
    assert all(one.hip and all(5 <= n <= 9 for n in one.hip) for one in MATRIX.sonames.values())


@pytest.mark.parametrize("name", ["torchvision", "torchaudio"])
def test_what_comes_with_torch_can_be_asked_for(name: str) -> None:
    plan = answer(declare_machine("gfx1100", "3.12", MATRIX), KNOWN, [name])
    assert plan.best
    assert plan.best.packages.keys() <= {"numpy"}
    assert any(r.why == f"no {name} of this build is known" for r in plan.rejected)
