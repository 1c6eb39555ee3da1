"""Learn the weights of the differential from the labelled reports, and measure them.

    python scripts/train_differential.py            # write rocm_doctor/differential/weights.bin
    python scripts/train_differential.py --check    # say whether the shipped weights are those that this makes
    python scripts/train_differential.py --measure  # cross-validated figures, into docs/differential.json

Ridge regression on tf-idf vectors in its dual form: one matrix of the training reports' size is inverted, and leaving a report out
is then a division, so that the cross-validation over real reports leaves out each thread exactly. What rows found is weighed apart,
on real reports that the rows had not seen: written reports and those that rows were written for would flatter them. Reports for testing are never
trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import scipy.linalg
from corpus import Entry
from corpus import load as load_corpus
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import chi2
from sklearn.preprocessing import normalize

from rocm_doctor import pipeline
from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint, text_of
from rocm_doctor.differential.features import of_findings, of_text
from rocm_doctor.differential.relations import of_snapshot
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load as load_matrix
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import failure_lines
from rocm_doctor.rules.engine import judge as judge_rows
from rocm_doctor.rules.logs import Logs, readable_logs
from rocm_doctor.sources.paste import cut

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "differential.json"
KINDS = {"w": 1.0, "c": 0.84, "f": 0.71}
"""Lengths of the vectors of words, of pieces of words, and of facts: their shares in likeness are 1, 0.7 and 0.5."""
KEPT = {"w": 20_000, "c": 10_000}
"""Features kept of each kind, by chi-square; all facts are kept."""
RIDGE = 0.5
REAL_WEIGHT = 3.0
"""A real report counts as much as this many written ones."""
ACCEPTABLE = 0.3
POSTINGS = 11
"""Classes kept of one feature, by weight."""


class Report(NamedTuple):
    entry: Entry
    text: dict[str, int]
    facts: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def right(self) -> set[str]:
        return {self.entry.label, *self.entry.acceptable}


_MATRIX = None


def featured(entry: Entry) -> Report:
    """The features of one report, as the pipeline names them."""
    global _MATRIX  # one matrix a process
    _MATRIX = _MATRIX or load_matrix()
    artifacts = cut(entry.text, entry.id)
    snapshot = enrich(pipeline.read_facts(artifacts, _MATRIX), _MATRIX)
    findings, _ = judge_rows(snapshot, Logs(readable_logs(artifacts), failure_lines(_MATRIX)), _MATRIX, RULES)
    words = text_of(complaint(artifacts))
    return Report(
        entry,
        dict(of_text(words)),
        tuple(sorted(set(of_snapshot(snapshot, _MATRIX, words)))),
        tuple(sorted(set(of_findings(findings)))),
    )


def reports(entries: Sequence[Entry]) -> list[Report]:
    with Pool() as pool:
        return pool.map(featured, entries, chunksize=40)


class Space(NamedTuple):
    """The features that are kept, with their idf as it is stored."""

    names: tuple[str, ...]
    idf: bytes


def space(train: Sequence[Report]) -> Space:
    """Features that tell labels apart: facts all, words and pieces by chi-square over the training reports."""
    labels = [r.entry.label for r in train]
    names: list[str] = []
    counts: Counter[str] = Counter()
    for kind in KINDS:
        dicts = [dict.fromkeys(r.facts, 1) if kind == "f" else {k: 1 for k in r.text if k[0] == kind} for r in train]
        vectorizer = DictVectorizer(dtype=np.float32)
        found = vectorizer.fit_transform(dicts)
        held = np.asarray(found.sum(axis=0)).ravel()
        least = 2 if kind == "f" else 3
        value = np.where(held >= least, np.nan_to_num(chi2(found, labels)[0]), -1)
        order = np.lexsort((np.arange(len(value)), -value))[: KEPT.get(kind, len(value))]
        kept = [vectorizer.feature_names_[n] for n in order if value[n] >= 0]
        names += kept
        counts.update({vectorizer.feature_names_[n]: int(held[n]) for n in order if value[n] >= 0})
    names.sort()
    idf = [np.log((1 + len(train)) / (1 + counts[name])) for name in names]
    return Space(tuple(names), bytes(min(255, round(float(i) * model.IDF_STEPS)) for i in idf))


def vectors(some: Sequence[Report], kept: Space) -> csr_matrix:
    """The reports as the model sees them (model.vector), a row each."""
    number = {name: n for n, name in enumerate(kept.names)}
    idf = 1 + np.frombuffer(kept.idf, dtype=np.uint8) / model.IDF_STEPS
    blocks = []
    for kind, length in KINDS.items():
        rows, columns, values = [], [], []
        for n, report in enumerate(some):
            counts = dict.fromkeys(report.facts, 1) if kind == "f" else report.text
            for name, count in counts.items():
                if name[0] == kind and name in number:
                    rows.append(n)
                    columns.append(number[name])
                    values.append((1 + np.log(count)) * idf[number[name]])
        block = csr_matrix((values, (rows, columns)), shape=(len(some), len(kept.names)))
        blocks.append(normalize(block) * length)
    return sum(blocks[1:], blocks[0]).tocsr()


class Fitted(NamedTuple):
    """Ridge weights for each class (rows: features), and the scores of real reports as if each had been left out."""

    weights: np.ndarray
    left_out: np.ndarray


def fit(found: csr_matrix, train: Sequence[Report], classes: Sequence[str]) -> Fitted:
    targets = np.zeros((len(train), len(classes)))
    place = {c: n for n, c in enumerate(classes)}
    for n, report in enumerate(train):
        for label in report.entry.acceptable:
            targets[n, place[label]] = ACCEPTABLE
        targets[n, place[report.entry.label]] = 1
    targets -= targets.mean(axis=0)
    weight = np.array([REAL_WEIGHT if r.entry.real else 1.0 for r in train])
    gram = np.asarray((found @ found.T).todense()) + np.diag(RIDGE / weight)
    inverse = scipy.linalg.inv(gram, overwrite_a=True, check_finite=False)
    dual = inverse @ targets
    left_out = targets - dual / np.diag(inverse)[:, None]
    return Fitted(np.asarray(found.T @ dual), left_out)


class Pool_(NamedTuple):
    """How scores become probabilities: steepness, weight of how common a class is, and what findings add."""

    steepness: float
    common: float
    findings: tuple[float, ...]


def commonness(train: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    """Log share of each class among real reports, one added to each."""
    counts = Counter(r.entry.label for r in train if r.entry.real)
    made = np.array([counts[c] + 1.0 for c in classes])
    shares: np.ndarray = np.log(made / made.sum())
    return shares


def finding_matrix(some: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    """For each report and class, how often each of FINDING_WEIGHTS applies."""
    place = {c: n for n, c in enumerate(classes)}
    made = np.zeros((len(some), len(model.FINDING_WEIGHTS), len(classes)))
    for n, report in enumerate(some):
        for k in range(len(model.FINDING_WEIGHTS) - 1):
            unit = [float(j == k) for j in range(len(model.FINDING_WEIGHTS))]
            for name, amount in model.finding_scores(report.findings, unit):
                if name in place:
                    made[n, k, place[name]] += amount
        made[n, -1, place[model.NONE]] = 1
    return made


def pooled(scores: np.ndarray, common: np.ndarray, findings: np.ndarray, right: np.ndarray) -> Pool_:
    """The few numbers that turn scores into probabilities, by likelihood over real reports."""

    def loss(v: np.ndarray) -> float:
        p = probabilities(scores, common, findings, v)
        return float(-np.log((p * right).sum(axis=1) + 1e-9).mean() + 0.002 * (v[1:] ** 2).sum())

    start = np.r_[8.0, 0.3, np.zeros(len(model.FINDING_WEIGHTS))]
    found = minimize(loss, start, method="L-BFGS-B").x
    return Pool_(float(found[0]), float(found[1]), tuple(float(x) for x in found[2:]))


def probabilities(scores: np.ndarray, common: np.ndarray, findings: np.ndarray, v: np.ndarray) -> np.ndarray:
    z = v[0] * scores + v[1] * common + np.einsum("r,nrk->nk", v[2:], findings)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    made: np.ndarray = z / z.sum(axis=1, keepdims=True)
    return made


def right_of(some: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    place = {c: n for n, c in enumerate(classes)}
    made = np.zeros((len(some), len(classes)))
    for n, report in enumerate(some):
        for label in report.right:
            made[n, place[label]] = 1
    return made


def cross_validated(train: Sequence[Report], classes: Sequence[str], fitted: Fitted) -> tuple[list[Report], np.ndarray]:
    """Real reports that the rows had not seen, each with the probabilities of a model that had not seen it either."""
    places = [n for n, r in enumerate(train) if r.entry.real and not r.entry.rows_saw_it]
    some = [train[n] for n in places]
    common, findings = commonness(train, classes), finding_matrix(some, classes)
    right, scores = right_of(some, classes), fitted.left_out[places]
    fold = np.array([int(hashlib.md5(r.entry.thread.encode()).hexdigest(), 16) % 10 for r in some])
    made = np.zeros(scores.shape)
    for f in range(10):
        inside = fold != f
        pool = pooled(scores[inside], common, findings[inside], right[inside])
        v = np.r_[pool.steepness, pool.common, pool.findings]
        made[~inside] = probabilities(scores[~inside], common, findings[~inside], v)
    return some, made


def figures(some: Sequence[Report], made: np.ndarray, classes: Sequence[str]) -> dict[str, Any]:
    """Shares named first and among three, for all faulty reports and for those where an expert can tell, and the calibration."""

    def share(group: list[int], k: int) -> float:
        hits = sum(bool({classes[j] for j in np.argsort(-made[n])[:k]} & some[n].right) for n in group)
        return round(hits / max(1, len(group)), 3)

    faulty = [n for n, r in enumerate(some) if r.entry.label != model.NONE]
    told = [n for n in faulty if some[n].entry.determinable != "no"]
    controls = [n for n, r in enumerate(some) if r.entry.label == model.NONE]
    top = made.max(axis=1)
    ok = np.array([classes[made[n].argmax()] in r.right for n, r in enumerate(some)])
    bins = [(low, low + 0.1) for low in np.arange(0, 1, 0.1)]
    table = []
    for low, high in bins:
        inside = (top >= low) & (top < high + (high >= 1))
        if inside.any():
            table.append(
                [round(float(low), 1), int(inside.sum()), round(float(top[inside].mean()), 3), round(float(ok[inside].mean()), 3)]
            )
    error = sum(n * abs(a - b) for _, n, a, b in table) / max(1, len(some))
    return {
        "n": len(faulty), "n_told": len(told), "first": share(faulty, 1), "first_told": share(told, 1), "three": share(faulty, 3),
        "three_told": share(told, 3), "controls": len(controls),
        "controls_right": sum(classes[made[n].argmax()] in some[n].right for n in controls),
        "calibration": table, "calibration_error": round(error, 3),
    }  # fmt: skip


def packed(kept: Space, classes: Sequence[str], fitted: Fitted, pool: Pool_, train: Sequence[Report], found: csr_matrix) -> bytes:
    """The weights file: a byte a weight, the POSTINGS strongest of each feature."""
    starts, post_class, post_weight, scale = [0], bytearray(), bytearray(), []
    for row in fitted.weights:
        order = np.sort(np.argsort(-np.abs(row), kind="stable")[:POSTINGS])
        top = float(np.abs(row).max()) or 1.0
        amounts = np.rint(row[order] / top * 127).astype(int)
        for k, amount in zip(order, amounts):
            if amount:
                post_class.append(int(k))
                post_weight.append(int(amount) & 255)
        scale.append(float(np.float16(top / 127)))
        starts.append(len(post_class))
    bias = pool.common * commonness(train, classes)
    bias[list(classes).index(model.NONE)] += pool.findings[-1]
    made = model.Weights(
        classes=tuple(classes), kinds=KINDS, features=kept.names, idf=kept.idf, scale=tuple(scale), starts=tuple(starts),
        post_class=bytes(post_class), post_weight=bytes(post_weight), bias=tuple(round(float(b), 4) for b in bias),
        steepness=round(pool.steepness, 4), findings=tuple(round(f, 4) for f in pool.findings), cases=cases(train, found),
    )  # fmt: skip
    return zlib.compress(msgspec.msgpack.encode(made), 9)


def cases(train: Sequence[Report], found: csr_matrix) -> tuple[model.Case, ...]:
    """The confirmed reports of the training set, each by its sixty strongest features."""
    made = []
    for n, report in enumerate(train):
        e = report.entry
        if not e.real:
            continue
        row = found[n].toarray().ravel()
        order = np.argsort(-row, kind="stable")[:60]
        order = order[row[order] > 0]
        length = float(np.linalg.norm(row)) or 1.0
        values = bytes(min(255, round(float(row[k]) / length * 255)) for k in order)
        made.append(model.Case(e.id, e.label, e.thread, e.cause, e.fix, tuple(int(k) for k in order), values))
    return tuple(made)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the shipped weights, write nothing")
    parser.add_argument(
        "--measure", action="store_true", help="write the cross-validated figures, and those on reports for testing"
    )
    args = parser.parse_args()
    entries = load_corpus()
    everything = reports([e for e in entries if args.measure or not e.testing])
    train = [r for r in everything if not r.entry.testing]
    classes = sorted({r.entry.label for r in train})
    kept = space(train)
    found = vectors(train, kept)
    fitted = fit(found, train, classes)
    some, made = cross_validated(train, classes, fitted)
    print(json.dumps({"cross-validated": figures(some, made, classes)}))
    real = [n for n, r in enumerate(train) if r.entry.real and not r.entry.rows_saw_it]
    common = commonness(train, classes)
    pool = pooled(fitted.left_out[real], common, finding_matrix(some, classes), right_of(some, classes))
    data = packed(kept, classes, fitted, pool, train, found)
    print(f"{len(data)} bytes, {len(kept.names)} features, {len(classes)} classes, {len(train)} reports")
    if args.check:
        same = model.WEIGHTS.is_file() and agree(data, model.WEIGHTS.read_bytes())
        print(
            "the shipped weights are those that this script makes" if same else "the shipped weights are stale; run this script"
        )
        return 0 if same else 1
    model.WEIGHTS.write_bytes(data)
    return 0


def agree(one: bytes, other: bytes) -> bool:
    """Whether two weights files are the same but for the last digit of a few weights, where another processor rounds otherwise."""
    a, b = (msgspec.msgpack.decode(zlib.decompress(data), type=model.Weights) for data in (one, other))
    if (a.classes, a.features, a.idf, [c.id for c in a.cases]) != (b.classes, b.features, b.idf, [c.id for c in b.cases]):
        return False
    apart = sum(x != y for x, y in zip(a.post_weight, b.post_weight)) + abs(len(a.post_weight) - len(b.post_weight))
    return apart <= len(a.post_weight) // 500


if __name__ == "__main__":
    sys.exit(main())
