"""scripts/mutation.py puts one fault at a time into code that runs, and the same ones for the same seed."""

from __future__ import annotations

import ast
from pathlib import Path

import mutation
import pytest

SOURCE = '''"""Docstring with 1 number."""

from os import path

LIMIT = 3


def f(a: int, b: "str" = "x") -> bool:
    """Words."""
    if not a and a >= LIMIT:
        raise ValueError(f"too large by {a}")
    return a == 1 or b in ("one", "two words")
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    (tmp_path / "f.py").write_text(SOURCE)
    return tmp_path / "f.py"


def test_each_fault_changes_one_thing_and_still_parses(file: Path) -> None:
    sound = ast.unparse(ast.parse(SOURCE))
    faults = mutation.faults_of(file)
    changed = [mutation.with_fault(SOURCE, fault.place) for fault in faults]
    assert len(set(changed)) == len(faults) > 10
    for text in changed:
        ast.parse(text)
        lines = [(one, other) for one, other in zip(sound.splitlines(), text.splitlines()) if one != other]
        assert len(lines) == 1


def test_comparisons_conditions_numbers_names_and_results_are_changed(file: Path) -> None:
    after = {fault.after for fault in mutation.faults_of(file)}
    assert {"a > LIMIT", "a != 1", "2", "4", "'oneX'", "bool(a)", "return None"} <= after
    assert "a >= LIMIT" in after, "one half of the condition alone"


def test_words_imports_and_annotations_are_not(file: Path) -> None:
    before = {fault.before for fault in mutation.faults_of(file)}
    assert not [text for text in before if "Docstring" in text or "Words" in text or text.strip("'") == "two words"]
    assert "'str'" not in before
    assert all(fault.line != 3 for fault in mutation.faults_of(file))


def test_a_seed_draws_the_same_faults() -> None:
    assert mutation.sample("versions", 12, "1") == mutation.sample("versions", 12, "1")
    assert mutation.sample("versions", 12, "1") != mutation.sample("versions", 12, "2")


def test_the_page_counts_what_was_noticed() -> None:
    one = {"file": "rocm_doctor/x.py", "line": 3, "before": "a | b", "after": "c", "place": 0}
    faults = [
        {**one, "result": "killed"},
        {**one, "result": "killed"},
        {**one, "result": "survived"},
        {**one, "result": "not run"},
    ]
    page = mutation.page({"seed": "7", "packages": {"x": {"possible": 90, "faults": faults}}})
    assert "| x | 90 | 4 | 2 | 1 | 1 | 50% |" in page
    assert "| x.py:3 | `a \\| b` | `c` |" in page
    assert "seed 7" in page
    assert "50% | 15% to 85% |" in page
