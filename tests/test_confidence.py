"""How sure a finding is, and which of two explanations of one line is named: the whole table, not a sample of it."""

from __future__ import annotations

import pytest
from test_engine import LINE, TORCH, row, run

DECIDED = {"log": "boom", "torch.version": ">=2.9"}


@pytest.mark.parametrize(("grade", "prior", "expected"), [
    ("official", "common", "medium"), ("official", "possible", "low"), ("official", "rare", "low"),
    ("field", "common", "medium"), ("field", "possible", "low"), ("field", "rare", "low"),
])  # fmt: skip
def test_a_line_alone(grade: str, prior: str, expected: str) -> None:
    assert run([row("r", "d.one", {"log": "boom"}, grade=grade, prior=prior)], LINE)[0][0].confidence == expected


@pytest.mark.parametrize(("grade", "prior", "expected"), [
    ("official", "common", "high"), ("official", "possible", "high"), ("official", "rare", "low"),
    ("upstream", "common", "high"), ("upstream", "possible", "high"), ("upstream", "rare", "low"),
    ("field", "common", "medium"), ("field", "possible", "low"), ("field", "rare", "low"),
])  # fmt: skip
def test_a_line_and_a_fact(grade: str, prior: str, expected: str) -> None:
    found = run([row("r", "d.one", DECIDED, grade=grade, prior=prior)], LINE, torch__version=TORCH)[0]
    assert found[0].confidence == expected


@pytest.mark.parametrize(("grade", "prior", "expected"), [
    ("official", "possible", "high"), ("official", "rare", "medium"), ("field", "possible", "high"), ("field", "rare", "medium"),
])  # fmt: skip
def test_a_fact_alone(grade: str, prior: str, expected: str) -> None:
    found = run([row("r", "d.one", {"torch.version": ">=2.9"}, grade=grade, prior=prior)], torch__version=TORCH)[0]
    assert found[0].confidence == expected


def named(*rows: tuple[str, dict[str, str], str]) -> str:
    """The diagnosis that is named for the line; the others are hypotheses."""
    made = [row(diagnosis, diagnosis, when, prior=prior, grade="official") for diagnosis, when, prior in rows]
    found = run(made, LINE, torch__version=TORCH)[0]
    assert [f.confidence for f in found[1:]] == ["low"] * (len(found) - 1)
    return found[0].id


def test_a_fact_outweighs_a_second_fragment_of_the_line() -> None:
    assert named(("d.line", {"log": "boom", "log.2": "at last"}, "common"), ("d.fact", DECIDED, "possible")) == "d.fact"


def test_of_two_that_know_as_much_the_more_common_is_named() -> None:
    assert named(("d.possible", DECIDED, "possible"), ("d.common", DECIDED, "common")) == "d.common"


def test_two_facts_outweigh_one_that_is_more_common() -> None:
    two = {"log": "boom", "torch.version": ">=2.9", "container": "absent"}
    assert named(("d.one", DECIDED, "common"), ("d.two", {**two, "log.2": "at last"}, "common")) == "d.two"
