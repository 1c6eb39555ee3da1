"""How old the matrix is: printed with the version, and said by `check` past 60 days."""

from __future__ import annotations

import datetime

import pytest
from click.testing import CliRunner

from rocm_doctor.cli import cli, inputs
from rocm_doctor.matrix import Matrix

TODAY = datetime.date.today()


def of(days: int) -> Matrix:
    day = TODAY - datetime.timedelta(days)
    return Matrix(f"{day.year}.{day.month:02}.{day.day:02}+site.yaml")


@pytest.mark.parametrize(("days", "words"), [(0, ", of today"), (1, ", 1 day old"), (12, ", 12 days old")])
def test_the_age_in_words(days: int, words: str) -> None:
    assert inputs.matrix_age(of(days)).endswith(words)
    assert inputs.matrix_age(Matrix("site.yaml")) == "matrix site.yaml"


def test_the_version_says_how_old_the_matrix_is() -> None:
    assert "matrix 20" in CliRunner().invoke(cli, ["--version"]).output


@pytest.mark.parametrize(("days", "said"), [(60, False), (61, True)])
def test_check_says_it_once_past_sixty_days(days: int, said: bool, capsys: pytest.CaptureFixture[str]) -> None:
    inputs.say_when_old(of(days))
    assert capsys.readouterr().err.count("61 days old") == int(said)
