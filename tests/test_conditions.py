"""The language of a row's conditions, in three values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.coords import COORDS, coord
from rocm_doctor.model import Fact, Unknown
from rocm_doctor.rules.conditions import holds


@pytest.mark.parametrize(
    ("kind", "condition", "value", "truth"),
    [
        ("word", "gfx1100|gfx1101", "gfx1101", True),
        ("word", "gfx110?", "gfx1102", True),
        ("word", "GFX90A", "gfx90a", True),
        ("word", "!gfx906", "gfx906", False),
        ("word", "!gfx906", "gfx90a", True),
        ("word", "absent", None, True),
        ("word", "set", None, False),
        ("word", "set", "0", True),
        ("version", ">=2.10,<2.12", "2.11.0+rocm7.0", True),
        ("version", ">=2.10,<2.12", "2.9.1+rocm6.4", False),
        ("version", "2.4.*|2.5.*", "2.5.1", True),
        ("release", "upstream:>=2.7,<2.12|amd:<2.10", "upstream:2.11.0+rocm7.2", True),
        ("release", "upstream:>=2.7,<2.12|amd:<2.10", "amd:2.11.0+rocm7.2", False),
        ("release", ">=2.11", "amd:2.11.0", True),
        ("number", ">=16GiB", 17163091968, False),
        ("number", "<16GiB", 17163091968, True),
        ("number", "0x744c", 0x744C, True),
        ("flag", "yes", True, True),
        ("flag", "no", True, False),
        ("list", "gfx906", ("gfx900", "gfx906"), True),
        ("list", "!gfx906", ("gfx900", "gfx906"), False),
    ],
)
def test_known_values_decide(kind: str, condition: str, value: object, truth: bool) -> None:
    assert holds(kind, condition, Fact(value)) is truth  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", ["set", "absent", "a|b", "!a"])
def test_unknown_never_decides(condition: str) -> None:
    assert holds("word", condition, Fact(Unknown("denied"))) is None


def test_an_ambiguous_name_decides_what_is_so_for_each_candidate() -> None:
    fact = Fact(Unknown("ambiguous", candidates=("gfx1152", "gfx1153")))
    assert holds("word", "gfx115?", fact) is True
    assert holds("word", "gfx906", fact) is False
    assert holds("word", "gfx1152", fact) is None


@pytest.mark.parametrize(("kind", "condition"), [("flag", "maybe"), ("number", "many")])
def test_a_condition_that_the_kind_cannot_have_is_an_error(kind: str, condition: str) -> None:
    with pytest.raises(ValueError, match=condition):
        holds(kind, condition, Fact(1))  # type: ignore[arg-type]


@given(st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text()))
def test_any_text_as_a_value_is_judged(condition: str, value: object) -> None:
    assert holds("word", condition, Fact(value)) in (True, False, None)  # type: ignore[arg-type]
    assert holds("version", ">=2.10,<2.12", Fact(value)) in (True, False, None)  # type: ignore[arg-type]


def test_the_vocabulary_finds_names_and_families() -> None:
    assert coord("torch.version") is COORDS["torch.version"]
    assert coord("env.HIP_VISIBLE_DEVICES") is COORDS["env."]
    assert coord("env.") is None
    assert coord("no.such") is None
