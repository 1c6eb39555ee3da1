"""What an advised release changes, what was built for another one, and the pins that it does not admit."""

from __future__ import annotations

import pytest

from rocm_doctor.lint.declared import Environment, Place, Requirement, Step
from rocm_doctor.lint.rules.breaking import built_for_another, changes_of, left_out
from rocm_doctor.matrix import load

MATRIX = load()
AT = Place("requirements-rocm.txt", 1)


def environment(*asked: tuple[str, str], constraints: tuple[tuple[str, str], ...] = ()) -> Environment:
    """One that asks for these packages in these ranges."""
    wanted, held = (tuple(Requirement(name, spec, AT) for name, spec in some) for some in (asked, constraints))
    return Environment("x", AT, steps=(Step("pip", AT, requirements=wanted, constraints=held),))


@pytest.mark.parametrize(("torch", "proposed", "names"), [
    ("2.5.1", {"torch": "2.6.0"}, ["torch"]), ("2.6.0", {"torch": "2.9.0"}, []), ("2.5.1", {"torch": "2.5.1"}, []), ("", {"torch": "2.9.0"}, []), ("2.5.1", {}, []),
    ("2.5.1", {"torch": "2.6", "torchaudio": "2.9"}, ["torch", "torchaudio"]), ("2.8.0", {"torch": "2.10.0", "torchaudio": "2.8.0"}, []),
])  # fmt: skip
def test_changes_between_two_releases(torch: str, proposed: dict[str, str], names: list[str]) -> None:
    said = list(changes_of(environment(("torch", "")), torch, proposed, MATRIX))
    assert [one.split()[4] if one.split()[3] == "on" else one.split()[3] for one in said] == names


def test_who_has_the_package_that_does_it_since_is_told_nothing() -> None:
    assert list(changes_of(environment(("torchcodec", "")), "2.8.0", {"torchaudio": "2.11.0"}, MATRIX)) == []


@pytest.mark.parametrize(("spec", "torch", "own"), [
    ("==0.9.1", "2.10.0", ["2.9"]), ("==0.9.1", "2.9.1", []), ("", "2.10.0", []), (">=0.5", "2.10.0", []), ("==99.0", "2.10.0", []),
])  # fmt: skip
def test_a_package_of_another_torch(spec: str, torch: str, own: list[str]) -> None:
    asked = environment(("torchcodec", spec), ("torch", "==2.9.1"), ("peft", "==0.9.1"))
    assert [made for _, made in built_for_another(asked, torch, MATRIX)] == own


@pytest.mark.parametrize(("name", "spec", "torch", "needed"), [
    ("sympy", "==1.12", "2.10.0", [">=1.13.3"]), ("sympy", "==1.13.3", "2.10.0", []), ("sympy", "==1.13.3", "2.6.0", ["==1.13.1"]), ("sympy", ">=1.1", "2.10.0", []),
    ("peft", "==0.1", "2.10.0", []), ("setuptools", "==82.0.0", "2.12.1", ["<82"]), ("setuptools", "==82.0.0", "2.10.0", []), ("sympy", "==1.12", "2.4.1", []),
])  # fmt: skip
def test_a_pin_that_a_torch_does_not_admit(name: str, spec: str, torch: str, needed: list[str]) -> None:
    assert [one for _, one in left_out(environment((name, spec)), torch, MATRIX)] == needed
    assert [one for _, one in left_out(environment(constraints=((name, spec),)), torch, MATRIX)] == needed
