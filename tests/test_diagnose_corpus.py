"""Real bug reports with a confirmed cause, where the collection lies beside the checkout: the bounds that we promise."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact

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


@pytest.mark.timed
def test_a_log_of_ten_megabytes_takes_about_a_second() -> None:
    lines = [
        f"[2026-11-20 10:{n % 60:02}] step {n} loss {n % 7}.{n % 89} gpu memory {n % 24} GiB token_{n % 5000}"
        for n in range(145_000)
    ]
    text = "\n".join([*lines, "RuntimeError: HIP error: invalid device function"])
    assert len(text) > 9_000_000
    matrix = load()
    start = time.process_time()
    report = pipeline.judge([Artifact("log/train.log", "paste", text)], matrix)
    took = time.process_time() - start
    assert report.findings[0].id == "arch.not-in-build"
    assert took < 3, f"{took:.1f} s of process time; the bound of the issue is 1 s, three leaves room for a busy machine"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_mutated_reports_break_nothing(seed: int) -> None:
    fuzz = importlib.import_module("fuzz")
    faults = [(number, wrong) for number, _, wrong, _ in fuzz.campaign("report", range(60), seed, 1.0) if wrong]
    assert not faults
