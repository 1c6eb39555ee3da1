"""What training makes of reports: what a word counts, and that the doctor sees a report as the training saw it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_doctor.differential import model
from rocm_doctor.differential.model import text_features

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from corpus import Entry

pytestmark = pytest.mark.slow  # scikit-learn takes longer to import than these take
TEXTS = {
    "access.permission": "Permission denied on the render node, the user is in no group.",
    "memory.oom": "The training runs out of memory after the first step.",
    "none": "How do I save the adapter after the training?",
}


@pytest.fixture(scope="module")
def training() -> Any:
    pytest.importorskip("sklearn")
    return importlib.import_module("train_differential")


@pytest.fixture(scope="module")
def reports(training: Any) -> list[Any]:
    """Eight reports of each label, numbered, half of them real."""
    return [
        training.Report(
            Entry(id=f"{label}-{n}", label=label, text=text, thread=f"https://example.org/{label}/{n}" if n % 2 else "",
                  confirmed_by="reporter" if n % 2 else ""),
            dict(text_features(f"{text} Take {'one' if n % 4 else 'two'} of it.")),
        )
        for label, text in TEXTS.items()
        for n in range(8)
    ]  # fmt: skip


def test_a_word_of_one_diagnosis_counts_more_than_a_rarer_one_of_all(training: Any, reports: list[Any]) -> None:
    every = training.count(reports)
    kept = training.choose_features(every, reports)
    counts = dict(zip(every.names[kept.places], kept.worth))
    assert counts["w:permission"] > counts["w:two"]
    worth = training.telling(every.counts > 0, reports)
    assert worth.min() >= 1 - training.TELLING - 1e-9
    assert abs(worth.mean() - 1) < 1e-6


def test_the_doctor_sees_a_report_as_the_training_saw_it(training: Any, reports: list[Any], tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    every = training.count(reports)
    kept = training.choose_features(every, reports)
    found = training.vectors(every, kept)
    fitted = training.fit(found, reports, sorted(TEXTS))
    weights = tmp_path / "weights.bin"
    weights.write_bytes(training.pack(every, kept, sorted(TEXTS), fitted, reports, found))
    loaded = model.load(weights)
    assert loaded is not None
    for row, report in enumerate(reports):
        vector = model.vector(loaded, report.text)
        (nearest, alike), *_ = model.similar(loaded, vector)
        assert nearest.label == report.entry.label
        assert alike > 0.5  # by the sixty strongest of its features
        trained = found[row].tocoo()
        assert vector == pytest.approx(dict(zip(trained.col.tolist(), trained.data.tolist())))
        scores = np.asarray(found[row] @ fitted.weights + fitted.start).ravel()
        meant = np.exp(scores) / np.exp(scores).sum()
        assert model.shares(loaded, vector) == pytest.approx(dict(zip(sorted(TEXTS), meant.tolist())), abs=0.01)
