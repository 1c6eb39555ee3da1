"""Single functions give for small arguments what tests/expected/calls_*.txt lists."""

from __future__ import annotations

import re

from test_expected import FOLDER, same


def test_calls_of_matrix_are_as_expected() -> None:
    same("calls_matrix")


def test_calls_of_plan_are_as_expected() -> None:
    same("calls_plan")


def test_calls_of_probes_are_as_expected() -> None:
    same("calls_probes")


def test_calls_of_redaction_are_as_expected() -> None:
    same("calls_redaction")


def test_calls_of_rules_are_as_expected() -> None:
    same("calls_rules")


def test_calls_of_versions_are_as_expected() -> None:
    same("calls_versions")


def test_no_title_shows_the_form_of_a_value() -> None:
    said = [
        line for name in ("findings", "calls_rules") for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    ]
    titles = [line.partition(" on ")[2] for line in said if re.search(r"(?:error|warning|note)/(?:low|medium|high) ", line)]
    assert len(titles) > 500
    assert [title for title in titles if re.search(r"Unknown\(|: None\b|\bFact\(", title)] == []
