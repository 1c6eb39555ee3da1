"""Packages of a plan: ranges between them hold in both directions, and a GPU library serves the HIP minors it is loaded for."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from rocm_doctor.matrix import load
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import Catalog, CatalogPackage, Release, load_catalog
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.stack_judge import package_targets

MATRIX = load()
MACHINE = declare_machine("gfx1100", "3.12", MATRIX)


def catalog(**packages: tuple[Release, ...]) -> Catalog:
    """The real indexes and builds with these packages alone."""
    made = {
        name: CatalogPackage(name, "invented", ("https://example.org",), "official", datetime.date(2026, 11, 22), releases)
        for name, releases in packages.items()
    }
    return msgspec.structs.replace(load_catalog(MATRIX), packages=made)


def release(version: str, **more: object) -> Release:
    return Release(version, ">=2", ">=3.8", **more)  # type: ignore[arg-type]


def chosen(known_of: Catalog, *wish: str) -> dict[str, str]:
    best = answer(MACHINE, known_of, wish).best
    assert best is not None
    return {name: one.version for name, one in best.packages.items()}


@pytest.mark.parametrize("wish", [("alpha", "beta"), ("beta", "alpha")])
def test_a_range_between_two_packages_holds_whichever_is_chosen_first(wish: tuple[str, str]) -> None:
    narrow = catalog(alpha=(release("2", needs={"beta": "<2"}),), beta=(release("2"), release("1")))
    assert chosen(narrow, *wish) == {"alpha": "2", "beta": "1"}


def test_without_a_set_that_fits_there_is_no_stack() -> None:
    narrow = catalog(alpha=(release("2", needs={"beta": "<1"}),), beta=(release("2"), release("1")))
    assert answer(MACHINE, narrow, ("alpha", "beta")).best is None


@pytest.mark.parametrize(
    ("minors", "nearest", "exact", "served"),
    [
        (("7.1", "7.2", "7.14"), True, False, "7.2"),
        (("7.1", "7.14"), True, False, "7.1"),
        (("7.0", "7.1"), True, False, "7.1"),
        (("7.3", "7.14"), True, False, "7.3"),
        (("6.4",), True, False, ""),
        (("7.1", "7.14"), False, False, ""),
        (("7.1", "7.14"), True, True, ""),
        (("7.2",), False, True, "7.2"),
    ],
)
def test_the_library_of_the_nearest_minor_below_is_loaded(
    minors: tuple[str, ...], nearest: bool, exact: bool, served: str
) -> None:
    one = release("1", code={minor: (f"gfx{minor}",) for minor in minors}, exact=exact)
    known_of = catalog(alpha=(one,))
    known_of = msgspec.structs.replace(
        known_of, packages={"alpha": msgspec.structs.replace(known_of.packages["alpha"], nearest=nearest)}
    )
    best = answer(MACHINE, known_of).best
    assert best is not None
    candidate = msgspec.structs.replace(best.candidate, index=msgspec.structs.replace(best.candidate.index, hip="7.2"))
    held = package_targets(one, "alpha", candidate, MACHINE, known_of)
    assert held == ((f"gfx{served}",) if served else ())
