"""scripts/faults.py puts one fault at a time into code that runs, the same ones for the same seed; scripts/mutation.py judges them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import faults
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
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    (tmp_path / "f.py").write_text(SOURCE)
    return tmp_path / "f.py"


def test_each_fault_changes_one_thing_and_still_parses(file: Path) -> None:
    sound = ast.unparse(ast.parse(SOURCE))
    places = [fault.place for fault in faults.faults_of(file)]
    changed = [faults.with_fault(SOURCE, place) for place in places]
    assert len(set(changed)) == len(places) > 10
    for text in changed:
        ast.parse(text)
        lines = [(one, other) for one, other in zip(sound.splitlines(), text.splitlines()) if one != other]
        assert len(lines) == 1


def test_comparisons_conditions_numbers_names_and_results_are_changed(file: Path) -> None:
    after = {fault.after for fault in faults.faults_of(file)}
    assert {"a > LIMIT", "a != 1", "2", "4", "'oneX'", "bool(a)", "return None"} <= after
    assert "a >= LIMIT" in after, "one half of the condition alone"


def test_words_imports_and_annotations_are_not(file: Path) -> None:
    before = {fault.before for fault in faults.faults_of(file)}
    assert not [text for text in before if "Docstring" in text or "Words" in text or text.strip("'") == "two words"]
    assert "'str'" not in before
    assert all(fault.line != 3 for fault in faults.faults_of(file))


def test_a_seed_draws_the_same_faults() -> None:
    assert faults.sample("versions", 12, "1") == faults.sample("versions", 12, "1")
    assert faults.sample("versions", 12, "1") != faults.sample("versions", 12, "2")


def test_the_table_counts_what_was_noticed() -> None:
    one = {"package": "x", "seed": "7", "possible": 90, "file": "rocm_doctor/x.py", "line": 3, "before": "a | b", "after": "c"}
    table = mutation.tables([{**one, "result": result} for result in ("killed", "timed out", "survived", "not run")])
    assert "| x | 7 | 90 | 4 | 2 | 1 | 1 | 50% | 15% to 85% |" in table
    assert table.count("| x.py:3 | `a \\| b` | `c` |") == 2


def test_the_tests_of_a_fault_are_those_that_run_its_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    (tmp_path / "f.py").write_text(
        "TOP = 1\n\n\ndef f():\n    x = (\n        2\n    )\n    return x\n\n\ndef g():\n    if TOP:\n        pass\n"
    )
    near, far, broad = "tests/test_f.py::test_near", "tests/test_x.py::test_other", "tests/test_expected.py::test_x"
    lines = {"f.py": {1: {far}, 5: {far, near}, 8: {broad}, 12: {far}}}
    monkeypatch.setattr(mutation, "recorded", lambda: mutation.Recorded(lines, {near: 9, far: 5, broad: 500}))
    monkeypatch.setattr(mutation, "BUDGET", 10)

    def chosen(line: int) -> list[str]:
        return mutation.tests_of(faults.Fault("f.py", line, "2", "3", 0))

    assert chosen(6) == [near], "the nearest first, as many as the time allows"
    assert chosen(8) == [broad]
    assert chosen(12) == [far], "the head of a condition"
    assert chosen(13) == [], "no test of its own process runs it, and none is named after it"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_f.py").touch()
    assert chosen(13) == [near], "what runs in a child is left to the tests that are named after the module"
    assert chosen(1) == [near, broad], "a line that runs at import: every test of the module, the broad ones whatever they take"


def test_the_head_of_an_except_and_of_a_case_is_a_statement(tmp_path: Path) -> None:
    lines = ["def f(x):", "    try:", "        g()", "    except (", "        OSError,", "    ):", "        h()"]
    lines += ["    match x:", "        case 1:", "            i()", "        case _ if x > 2:", "            j()"]
    (tmp_path / "f.py").write_text("\n".join(lines))
    smallest = [min((s for s in faults.statements(tmp_path / "f.py") if n in s), key=len) for n in range(2, 13)]
    heads = [range(2, 3), range(3, 4), range(4, 7), range(4, 7), range(4, 7), range(7, 8)]
    assert smallest == [*heads, range(8, 9), range(9, 10), range(10, 11), range(11, 12), range(12, 13)]


SOUND = (faults.ROOT / "rocm_doctor" / "versions.py").read_text(encoding="utf-8").splitlines()
RECORDED = """
import pytest
from rocm_doctor.versions import contains, parse


@pytest.fixture(scope="module")
def made():
    return contains(">=2", "2.4")


def test_first(made):
    assert made


def test_second():
    assert parse("2.4")


def test_third():
    assert parse("2.4")


def test_broken():
    assert not parse("2.5")
"""


def test_a_test_is_recorded_with_what_its_fixtures_and_empty_caches_run(tmp_path: Path) -> None:
    file, state = tmp_path / "tests" / "test_it.py", tmp_path / "coverage"
    file.parent.mkdir()
    state.mkdir()
    (tmp_path / "pytest.ini").touch()
    file.write_text(RECORDED)
    script = f"import mutation, pathlib; mutation.STATE = pathlib.Path({str(tmp_path)!r}); "
    script += f"mutation.record_one(pathlib.Path({str(file)!r}))"
    done = subprocess.run([sys.executable, "-c", script], env=mutation._first(faults.ROOT), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    known = json.loads((state / "test_it.json").read_text())
    ran = known["lines"]["rocm_doctor/versions.py"]
    parse = str(1 + next(n for n, line in enumerate(SOUND) if line.startswith("def parse(")) + 2)
    contains = str(1 + next(n for n, line in enumerate(SOUND) if "clauses = parse_spec(spec)" in line))
    every = [f"tests/test_it.py::test_{name}" for name in ("first", "second", "third")]
    assert sorted(ran[contains]) == every, "what a fixture runs serves all tests of the file"
    assert sorted(ran[parse]) == every, "the second of two that ask the same runs it too"
    assert not [name for name in known["seconds"] if "broken" in name]
