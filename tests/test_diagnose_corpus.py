"""Real bug reports with a confirmed cause, where the collection lies beside the checkout: the bounds that we promise."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT.parent / "shared" / "corpus" / "cases"
sys.path.insert(0, str(ROOT / "scripts"))


@pytest.mark.slow
@pytest.mark.skipif(not CASES.is_dir(), reason="the collection of cases is not beside this checkout")
def test_the_cause_is_named_as_often_as_promised() -> None:
    score = importlib.import_module("score")
    results = score.score(CASES)
    sure = [r for r in results if not r.control and r.determinable == "yes"]
    controls = [r for r in results if r.control]
    assert sum(r.first for r in sure) >= 0.9 * len(sure), [r.case for r in sure if not r.first]
    assert sum(r.among_three for r in sure) >= 0.95 * len(sure)
    assert sum(r.alarm for r in controls) <= 0.05 * len(controls), [r.case for r in controls if r.alarm]
