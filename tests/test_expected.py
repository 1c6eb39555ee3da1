"""Probes, rules, plans and triage give what tests/expected holds, for inputs not chosen with a change in mind."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import expected
import pytest

from rocm_doctor.matrix import load

FOLDER = Path(__file__).parent / "expected"


def same(name: str) -> None:
    before, now = ((FOLDER / f"{name}.txt").read_text(encoding="utf-8"), expected.PAGES[name](load()))
    if before != now:
        changes = unified_diff(before.split("\n"), now.split("\n"), "expected", "now", n=1, lineterm="")
        pytest.fail("\n".join([*list(changes)[:60], "meant? `python scripts/regen.py` writes it; read the diff"]), pytrace=False)


def test_facts_of_reports_are_as_expected() -> None:
    same("facts")


def test_findings_of_machines_are_as_expected() -> None:
    same("findings")


def test_comments_on_issues_are_as_expected() -> None:
    same("comments")


def test_plans_are_as_expected() -> None:
    same("plans")
