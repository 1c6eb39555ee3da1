"""`rocm-doctor matrix`: what a person sees, and what it costs to be wrong."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from matrix_machines import MATRIX

from rocm_doctor.cli.matrix import command
from rocm_doctor.matrix.coverage import coverage, diff
from rocm_doctor.matrix.show import show
from rocm_doctor.model import Command
from rocm_doctor.reports.table import grid

ROOT = Path(__file__).resolve().parents[1]


def run(*words: str, **more: Any) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(words), **more)
    return done.exit_code, done.output


def text(subject: str, version: str = "") -> str:
    return "\n".join(" ".join(cell) for table in show(MATRIX, subject, version) for cell in table.lines)


def test_mi50_is_said_as_it_is() -> None:
    """Official says no, the field says yes to 6.3, and the wheels after it list the target without kernels."""
    said = text("gfx906")
    for words in ("Absent from the compatibility matrix", "works-unofficially ≠", "2.9.1+rocm6.3", "No MFMA"):
        assert words in said
    wheels = next(t for t in show(MATRIX, "gfx906") if "wheels" in t.title)
    assert {("2.9.1", "6.4", "yes", "NO"), ("2.9.1", "6.3", "yes", "not known")} <= {line[:4] for line in wheels.lines}


@pytest.mark.parametrize(
    ("subject", "version", "words"),
    [
        ("RX 7900 XTX", "", "110000"),
        ("gfx1036", "", "disputed"),
        ("torch", "2.9.1", "pytorch-triton-rocm==3.5.1"),
        ("torch", "2.9.1", "AOTriton 0.11b"),
        ("rocm", "7.2.4", "Tensile 4.45.0"),
        ("driver", "", "6.16.13-2278356"),
        ("bitsandbytes", "", "bnb-gfx906"),
        ("HIP_DISABLE_IPC", "", "nothing"),
        ("transformers", "", "switches torch off"),
    ],
)
def test_subjects(subject: str, version: str, words: str) -> None:
    assert words in text(subject, version)


def test_every_target_and_package_can_be_shown() -> None:
    for gfx in MATRIX.gfx:
        assert len(show(MATRIX, gfx)) >= 3
    packages = {name.removeprefix("pkg.") for row in MATRIX.rows for name in row.when if name.startswith("pkg.")}
    for name in packages:
        assert show(MATRIX, name), name


def test_coverage_counts_and_shows_contradictions() -> None:
    tables = {t.title: t for t in coverage(MATRIX, datetime.date(2026, 11, 21))}
    disputed = next(t for title, t in tables.items() if title.startswith("contradictions"))
    assert any(line[0] == "gfx906" and "works-unofficially" in line[2] + line[3] for line in disputed.lines)
    assert any(line[0] == "gfx1030" and "disputed" in line[2] + line[3] for line in disputed.lines)
    assert run("coverage")[0] == 0


def test_diff_names_what_changed() -> None:
    row = MATRIX.rows[0]
    new = msgspec.structs.replace(
        MATRIX, rows=(msgspec.structs.replace(row, title="another title", origin="x"), *MATRIX.rows[2:])
    )
    lines = diff(MATRIX, new)[0].lines
    assert [(line[1], line[2].split(" ")[0]) for line in lines] == sorted(
        [(row.key, "changed:"), (MATRIX.rows[1].key, "removed")]
    )
    assert diff(MATRIX, MATRIX)[0].lines == []


def test_lint_of_this_checkout_passes_and_of_nothing_is_a_usage_error(tmp_path: Path) -> None:
    status, said = run("lint")
    assert status == 0, said
    assert run("lint", str(tmp_path))[0] == 2


ANSWERS = "my-row\nlib.triton\ntriton of our site is old\nbroken\nfield\npackage\nThe image is old.\nAsk the desk.\n"
GIVEN = ("--when", "pkg.triton=<3", "--source", "field report: our notes (2026-11)", "--command", "pip install triton")


def test_new_writes_a_row_that_loads(tmp_path: Path) -> None:
    from rocm_doctor.matrix import load

    path = tmp_path / "site.yaml"
    status, said = run("new", "-o", str(path), *GIVEN, input=ANSWERS)
    assert status == 0, said
    status, said = run("new", "-o", str(path), *GIVEN, input=ANSWERS.replace("my-row", "my-second-row"))
    assert status == 0, said
    matrix = load(overlays=[path])
    assert matrix.by_key["my-row"].when == {"pkg.triton": "<3"}
    assert matrix.by_key["my-second-row"].commands == (Command("pip install triton"),)


@pytest.mark.parametrize(
    ("answers", "given", "words"),
    [
        (ANSWERS.replace("lib.triton", "lib.nothing"), GIVEN, "not a diagnosis"),
        (ANSWERS.replace("my-row", "mi50-working"), GIVEN, "already used"),
        (ANSWERS.replace("broken", "brokn"), GIVEN, "brokn"),
        (ANSWERS, ("--when", "pkg.triton=>=x", *GIVEN[2:]), "not a bound"),
        (ANSWERS, ("--when", "pkg.triton", *GIVEN[2:]), "FACT=CONDITION"),
        (ANSWERS, (*GIVEN[:2], "--source", "I think so"), "citation"),
    ],
)
def test_new_writes_nothing_that_is_wrong(tmp_path: Path, answers: str, given: tuple[str, ...], words: str) -> None:
    path = tmp_path / "site.yaml"
    status, said = run("new", "-o", str(path), *given, input=answers)
    assert status == 2
    assert words in said
    assert not path.exists()


@pytest.mark.parametrize("subject", ["gfx906", "bitsandbytes", "HSA_OVERRIDE_GFX_VERSION"])
def test_tables_stay_within_a_narrow_terminal(subject: str) -> None:
    """Lines go below one another, words stay whole; only a word that is wider than the terminal stands out."""
    said = "\n".join(grid(table, 60) for table in show(MATRIX, subject))
    assert not [line for line in said.splitlines() if len(line) > 60 and " " in line[14:].strip()]
    assert "\nsources  " in said
