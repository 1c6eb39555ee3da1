"""What each part of the differential is worth, against what else was tried: tables for docs/differential.md.

    python scripts/study_differential.py        # an hour on two cores, minutes on sixteen; writes docs/differential-study.json

Everything is cross-validated by thread on the real reports that rows had not seen, with the folds of train_differential.py: which
evidence (words, facts, findings), which model, how many reports, and training on threads up to 2024 for those of 2025 and later.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import Pool
from typing import Any, NamedTuple

import msgspec
import numpy as np
import train_differential as train_script
from corpus import load as load_corpus
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.svm import LinearSVC
from train_differential import FOLDS, ROOT, Report, folds, judged

STUDY = ROOT / "docs" / "differential-study.json"
OLD = 2024
"""The last year of the threads trained on, in the split by time."""


class Data(NamedTuple):
    train: list[Report]
    classes: list[str]
    found: csr_matrix
    kinds: np.ndarray
    findings: np.ndarray
    common: np.ndarray
    fold: np.ndarray
    source: list[Report]
    """By report, the real one that it is a contrast to, or itself."""

    @property
    def labels(self) -> np.ndarray:
        return np.array([self.classes.index(r.entry.label) for r in self.train])

    @property
    def weights(self) -> np.ndarray:
        return train_script.often(self.train)


class Task(NamedTuple):
    """One thing to measure: which features (kinds of feature; all: empty), which model, which share of which reports."""

    name: str
    kinds: str = "wctpf"
    model: str = "logistic regression"
    share: tuple[float, float] = (1.0, 1.0)
    """Shares of the written and of the real reports that are trained on; a contrast goes with its report."""
    contrasts: bool = True


TASKS = (
    Task("words", "wctp"),
    Task("facts and relations", "f"),
    Task("words and facts"),
    Task("without words of the first line", "wcpf"),
    Task("without pairs of words", "wctf"),
    Task("without pieces of words", "wtpf"),
    Task("without contrasts", contrasts=False),
    *(Task(f"{m}", model=m) for m in ("ridge", "support vectors", "complement naive Bayes", "multinomial naive Bayes")),
    Task("area first, then diagnosis", model="hierarchy"),
    Task("gradient boosting on 120 components, facts and findings", model="boosting"),
    *(Task(f"{share:.0%} of the written reports", share=(share, 1.0)) for share in (0.0, 0.25, 0.5, 0.75)),
    *(Task(f"{share:.0%} of the real reports", share=(1.0, share)) for share in (0.0, 0.25, 0.5, 0.75)),
)
DATA: Data


def scored(task: Task, inside: Sequence[int], outside: Sequence[int]) -> np.ndarray:
    """The scores of the reports outside, by a model of those inside."""
    found = DATA.found.multiply(np.isin(DATA.kinds, list(task.kinds))).tocsr()
    some = [DATA.train[n] for n in inside]
    if task.model == "logistic regression":
        fitted = train_script.fit(found[inside], some, DATA.classes)
        return np.asarray(found[outside] @ fitted.weights + fitted.start)
    if task.model == "hierarchy":
        return _by_area(found, inside, outside)
    made: dict[str, Callable[[], Any]] = {
        "ridge": lambda: RidgeClassifier(alpha=1.0, solver="sparse_cg", tol=1e-2, max_iter=60),
        "support vectors": lambda: LinearSVC(C=0.1, tol=1e-2),
        "complement naive Bayes": lambda: ComplementNB(alpha=0.3),
        "multinomial naive Bayes": lambda: MultinomialNB(alpha=0.05),
        "boosting": lambda: HistGradientBoostingClassifier(
            max_iter=120,
            learning_rate=0.05,
            max_leaf_nodes=8,
            min_samples_leaf=5,
            l2_regularization=5,
            early_stopping=False,
            random_state=0,
        ),
    }
    if task.model == "boosting":
        dense = TruncatedSVD(120, random_state=0).fit(found[inside]).transform(found)
        facts = (DATA.found[:, np.isin(DATA.kinds, ["f"])] > 0).toarray()
        raw = DATA.findings.reshape(len(DATA.train), -1)
        used: Any = np.hstack([dense, facts, raw[:, raw.any(axis=0)]]).astype(np.float32)
    else:
        used = found
    one = made[task.model]().fit(used[inside], DATA.labels[inside], sample_weight=DATA.weights[inside])
    scores = one.predict_proba(used[outside]) if task.model == "boosting" else None
    if scores is not None:
        scores = np.log(scores + 1e-9)
    else:
        scores = (
            one.decision_function(used[outside]) if hasattr(one, "decision_function") else one.predict_log_proba(used[outside])
        )
    full = np.full((len(outside), len(DATA.classes)), scores.min())
    full[:, one.classes_] = scores
    return np.asarray(full / (full.std() + 1e-9))


def _by_area(found: csr_matrix, inside: Sequence[int], outside: Sequence[int]) -> np.ndarray:
    """log P(area) + log P(diagnosis | area), a logistic regression each."""
    area = np.array([c.split(".")[0] for c in DATA.classes])
    scores = np.zeros((len(outside), len(DATA.classes)))
    for name in sorted(set(area)):
        mine = [n for n in inside if DATA.train[n].entry.label.split(".")[0] == name]
        fitted = (
            train_script.fit(found[mine], [DATA.train[n] for n in mine], DATA.classes)
            if len({DATA.labels[n] for n in mine}) > 1
            else None
        )
        part = (
            np.asarray(found[outside] @ fitted.weights + fitted.start) if fitted else np.zeros((len(outside), len(DATA.classes)))
        )
        columns = np.flatnonzero(area == name)
        part = part[:, columns]
        scores[:, columns] = (
            part - np.log(np.exp(part - part.max(1, keepdims=True)).sum(1, keepdims=True)) - part.max(1, keepdims=True)
        )
    top = train_script.fit(found[inside], [_as_area(DATA.train[n]) for n in inside], sorted(set(area)))
    whole = np.asarray(found[outside] @ top.weights + top.start)
    whole = whole - np.log(np.exp(whole).sum(1, keepdims=True))
    place = {name: n for n, name in enumerate(sorted(set(area)))}
    return np.asarray(scores + whole[:, [place[name] for name in area]])


def _as_area(report: Report) -> Report:
    areas = tuple(sorted({a.split(".")[0] for a in report.entry.acceptable} - {report.entry.label.split(".")[0]}))
    return report._replace(entry=msgspec.structs.replace(report.entry, label=report.entry.label.split(".")[0], acceptable=areas))


def fold(task: Task, number: int) -> np.ndarray:
    warnings.simplefilter("ignore")
    chosen = np.random.default_rng(0).random(len(DATA.train))
    place = {r.entry.id: n for n, r in enumerate(DATA.train)}
    inside = [
        n
        for n, source in enumerate(DATA.source)
        if DATA.fold[n] != number
        and chosen[place[source.entry.id]] < task.share[1 if source.entry.real else 0]
        and (task.contrasts or source is DATA.train[n])
    ]
    return scored(task, inside, [n for n in judged(DATA.train) if DATA.fold[n] == number])


def by_time() -> dict[str, Any]:
    """Trained on the written reports and the threads up to OLD; tested on the later ones."""
    inside = [n for n, r in enumerate(DATA.source) if not r.entry.real or r.entry.year <= OLD]
    outside = [n for n in judged(DATA.train) if DATA.train[n].entry.year > OLD]
    scores = scored(Task("time"), inside, outside)
    some = [DATA.train[n] for n in outside]
    old = [n for n in judged(DATA.train) if DATA.train[n].entry.year <= OLD]
    # The calibration comes from the older threads too, scored by models that had not seen them.
    parts = {n: row for k in range(FOLDS) for n, row in _old_fold(inside, old, k)}
    made = train_script.calibrated(
        np.array([parts[n] for n in old]),
        DATA.common,
        DATA.findings[old],
        train_script.right_of([DATA.train[n] for n in old], DATA.classes),
    )
    return train_script.figures(
        some,
        train_script.sharpened(train_script.probabilities(scores, DATA.common, DATA.findings[outside], made.vector), made.first),
        DATA.classes,
    )


def _old_fold(inside: Sequence[int], old: Sequence[int], k: int) -> list[tuple[int, np.ndarray]]:
    mine = [n for n in old if DATA.fold[n] == k]
    rest = [n for n in inside if not (DATA.fold[n] == k and DATA.source[n].entry.confirmed)]
    return list(zip(mine, scored(Task("time"), rest, mine))) if mine else []


def main() -> int:
    global DATA
    train = train_script.reports([e for e in load_corpus() if not e.testing])
    classes = sorted({r.entry.label for r in train})
    every = train_script.counted(train)
    kept = train_script.space(every, train, range(len(train)))
    by_id = {r.entry.id: r for r in train}
    DATA = Data(
        train, classes, train_script.vectors(every, kept), every.kinds[kept.places],
        train_script.finding_matrix(train, classes), train_script.commonness(train, classes),
        folds(train), [by_id.get(r.entry.contrast_to, r) for r in train],
    )  # fmt: skip
    some = judged(train)
    with Pool(max(1, (os.cpu_count() or 2))) as pool:
        made = pool.starmap(fold, [(task, k) for task in TASKS for k in range(FOLDS)], chunksize=1)
    table = {}
    for place, task in enumerate(TASKS):
        scores = np.zeros((len(some), len(classes)))
        for k in range(FOLDS):
            scores[DATA.fold[some] == k] = made[place * FOLDS + k]
        alone = train_script.figures([train[n] for n in some], np.exp(scores - scores.max(1, keepdims=True)), classes)
        reports, shares = train_script.cross_validated(train, classes, scores)
        table[task.name] = {"alone": _short(alone), "with findings": _short(train_script.figures(reports, shares, classes))}
        print(task.name, json.dumps(table[task.name]), flush=True)
    only = np.log(np.full((len(some), len(classes)), 1 / len(classes)))
    reports, shares = train_script.cross_validated(train, classes, only)
    table["findings of rows and rules"] = {"with findings": _short(train_script.figures(reports, shares, classes))}
    table["split by time"] = _short(by_time())
    print(json.dumps(table["split by time"]))
    STUDY.write_text(json.dumps(table, indent=1) + "\n")
    return 0


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("n", "first", "first_told", "three_told", "controls_right", "calibration_error")}


if __name__ == "__main__":
    sys.exit(main())
