"""Learn the weights of the differential from the labelled reports.

    python scripts/train_differential.py            # write rocm_doctor/differential/weights.bin
    python scripts/train_differential.py --check    # say whether the shipped weights are those that this makes

Multinomial logistic regression on words and pieces of words. Reports for testing are never trained on: `score.py testing` measures on
them what comes out.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Sequence
from multiprocessing import Pool
from typing import Any, NamedTuple

import msgspec
import multinomial
import numpy as np
from corpus import Entry
from corpus import load as load_corpus
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import chi2
from sklearn.preprocessing import normalize

from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint
from rocm_doctor.differential.model import text_features
from rocm_doctor.sources.paste import cut

KINDS = {"w": 1.0, "c": 1.0, "t": 1.0}
"""Lengths of the vectors of words, of pieces of words, and of words of the first line."""
KEPT = {"w": 20_000, "c": 12_000, "t": 4_000}
"""Features kept of each kind, by chi-square."""
LEAST = 3
"""Reports that have to hold a feature."""
TELLING = 0.5
"""How much of what a word counts depends on how well it tells the diagnoses apart."""
SEEN = 3.0
"""Reports as common as all that each word is taken to be in, too: one that is in few reports tells little by itself."""
STRENGTH = 2.0
"""Inverse of the penalty on weights."""
STEPS = 80
STEEPNESS = 1.4
"""What scores are multiplied by. The fit is held back, so that its first answers are right more often than it says."""
REAL_WEIGHT = 4.0
"""A confirmed report counts as much as this many written ones."""
READ_WEIGHT = 2.0
"""So does one whose cause a reader judged."""
REAL_OWN = 1.0
"""How much two real reports have in common beyond their words: each feature has a second weight, of real reports alone, that is held
to zero by a penalty as many times weaker."""
ACCEPTABLE = 0.3
"""What an acceptable label counts, where the label counts 1."""
SMOOTH = 0.07
"""The share of each report that goes to all diagnoses alike: no label is beyond doubt."""
POSTINGS = 420_000
"""Weights kept, those of many reports before those of few."""
STRIDES = 15
"""Steps of a weight from zero to the largest of its feature."""


class Report(NamedTuple):
    """A labelled report and how often each feature occurs in it."""

    entry: Entry
    text: dict[str, int]


def read_report(entry: Entry) -> Report:
    """The report with its features."""
    return Report(entry, dict(text_features(complaint(cut(entry.text, entry.id)))))


class Counted(NamedTuple):
    """How often each report holds each feature (one row a report), with the features' names and kinds."""

    names: np.ndarray
    kinds: np.ndarray
    counts: csr_matrix


def count(some: Sequence[Report]) -> Counted:
    """The features that enough reports hold. Of two names with one key the first is kept: the weights know features by their keys."""
    vectorizer = DictVectorizer(dtype=np.float32)
    counts = vectorizer.fit_transform(report.text for report in some)
    names = np.array(vectorizer.feature_names_, dtype=object)
    kept = np.zeros(len(names), dtype=bool)
    kept[np.unique([model.key(str(name)) for name in names], return_index=True)[1]] = True
    kept &= np.asarray((counts > 0).sum(axis=0)).ravel() >= LEAST
    return Counted(names[kept], np.array([name[0] for name in names[kept]]), counts[:, kept])


class Space(NamedTuple):
    """The features that are kept, by their places among all in the order of their keys, and what one of each counts, as it is stored."""

    places: np.ndarray
    worth: bytes


def choose_features(every: Counted, train: Sequence[Report]) -> Space:
    """Of each kind the features that tell labels apart best, by chi-square."""
    value = np.nan_to_num(chi2(every.counts > 0, [report.entry.label for report in train])[0])
    places: list[int] = []
    for kind in KINDS:
        mine = np.flatnonzero(every.kinds == kind)
        places += [int(n) for n in mine[np.lexsort((mine, -value[mine]))][: KEPT[kind]]]
    places.sort(key=lambda n: model.key(str(every.names[n])))
    held = every.counts[:, places] > 0
    idf = np.log((1 + len(train)) / (1 + np.asarray(held.sum(axis=0)).ravel()))
    worth = (1 + idf) * telling(held, train)
    return Space(np.array(places), bytes(min(255, round(float(one) * model.WORTH_STEPS)) for one in worth))


def telling(held: csr_matrix, train: Sequence[Report]) -> np.ndarray:
    """By feature, what it counts beside the others: how far the diagnoses of the reports that hold it are from those of all reports
    (Kullback-Leibler divergence), against the mean of all features."""
    classes = sorted({r.entry.label for r in train})
    shares = wanted_shares(train, classes) * report_weights(train)[:, None]
    common = shares.sum(axis=0) / shares.sum()
    found = np.asarray(held.T @ shares) + SEEN * common
    found /= found.sum(axis=1, keepdims=True)
    apart = (found * np.log(found / common)).sum(axis=1)
    return np.asarray(1 - TELLING + TELLING * apart / apart.mean())


def vectors(every: Counted, kept: Space) -> csr_matrix:
    """The reports as the model sees them (model.vector), a row each."""
    found = every.counts[:, kept.places].tocsr().astype(float)
    worth = np.frombuffer(kept.worth, dtype=np.uint8) / model.WORTH_STEPS
    found.data = (1 + np.log(found.data)) * worth[found.indices]
    kinds = every.kinds[kept.places]
    return sum(normalize(found.multiply(kinds == kind).tocsr()) * KINDS[kind] for kind in KINDS).tocsr()


class Fitted(NamedTuple):
    """A weight for each feature and class, as precise as it is stored, what each class starts from, and the byte that tells the worth of
    one step of each feature's weights."""

    weights: np.ndarray
    start: np.ndarray
    steps: np.ndarray


def fit(found: csr_matrix, train: Sequence[Report], classes: Sequence[str]) -> Fitted:
    """Multinomial logistic regression; an acceptable label is a part of the report."""
    real = np.array([report.entry.real for report in train])
    products = (found @ found.T).toarray()
    products *= 1 + REAL_OWN * np.outer(real, real)
    counts = report_weights(train)
    own, start = multinomial.fit(products, wanted_shares(train, classes), counts * len(train) / counts.sum(), STRENGTH, STEPS)
    weights = np.asarray(found.T @ (own * (1 + REAL_OWN * real)[:, None]))
    kept, steps = round_weights(STEEPNESS * weights, np.asarray((found > 0).sum(axis=0)).ravel())
    return Fitted(kept, STEEPNESS * start, steps)


def wanted_shares(train: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    """The share of each class in each report."""
    place = {c: n for n, c in enumerate(classes)}
    made = np.full((len(train), len(classes)), SMOOTH / len(classes))
    for n, report in enumerate(train):
        shares = {**dict.fromkeys(report.entry.acceptable, ACCEPTABLE), report.entry.label: 1.0}
        for label, share in shares.items():
            if label in place:
                made[n, place[label]] += (1 - SMOOTH) * share / sum(shares.values())
    return made


def report_weights(train: Sequence[Report]) -> np.ndarray:
    """How much each report counts."""
    return np.array([REAL_WEIGHT if r.entry.confirmed else READ_WEIGHT if r.entry.real else 1.0 for r in train])


def round_weights(weights: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights as the file holds them, in STRIDES: against the mean of their feature, the POSTINGS that matter most. And the byte
    that tells the worth of one step of each feature's weights.

    `held`: how many reports hold a feature.
    """
    centred = weights - weights.mean(axis=1, keepdims=True)
    matters = np.abs(centred) * np.sqrt(held)[:, None]
    if matters.size > POSTINGS:
        centred[matters < np.partition(matters, -POSTINGS, axis=None)[-POSTINGS]] = 0.0
    top = np.maximum(np.abs(centred).max(axis=1) / STRIDES, 1e-9)
    steps = np.clip(np.floor(-np.log2(top) * model.SCALE_STEPS), 0, 255).astype(np.uint8)
    worth = worth_of(steps)[:, None]
    return np.rint(centred / worth) * worth, steps


def worth_of(steps: np.ndarray) -> np.ndarray:
    """The worth of one step, by the byte that stands for it."""
    worth: np.ndarray = 2.0 ** (-steps.astype(float) / model.SCALE_STEPS)
    return worth


def pack(
    every: Counted, kept: Space, classes: Sequence[str], fitted: Fitted, train: Sequence[Report], found: csr_matrix
) -> bytes:
    """The weights file. A feature whose weights are all zero stays: it is a part of the length of a report."""
    keys = [model.key(str(name)) for name in every.names[kept.places]]
    counts, post_class, post_weight = bytearray(), bytearray(), bytearray()
    for row, worth in zip(fitted.weights, worth_of(fitted.steps)):
        held = np.flatnonzero(row)
        counts.append(len(held))
        post_class += bytes(held.tolist())
        post_weight += bytes(round(float(row[k] / worth)) & 255 for k in held)
    weights = model.Weights(
        classes=tuple(classes), kinds=KINDS, words=np.diff(keys, prepend=0).astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes(),
        worth=kept.worth, scale=fitted.steps.tobytes(), counts=bytes(counts), post_class=bytes(post_class), post_weight=bytes(post_weight),
        bias=tuple(round(float(b), 2) for b in fitted.start), **cases(train, found),
    )  # fmt: skip
    return zlib.compress(msgspec.msgpack.encode(weights), 9)


def cases(train: Sequence[Report], found: csr_matrix) -> dict[str, Any]:
    """The confirmed reports of the training set, and by feature which of them hold it among their sixty strongest."""
    made: list[model.KnownCase] = []
    holders: list[list[tuple[int, int]]] = [[] for _ in range(found.shape[1])]
    for n, report in enumerate(train):
        e = report.entry
        if not e.confirmed:
            continue
        row = found[n].toarray().ravel()
        order = np.argsort(-row, kind="stable")[:60]
        length = float(np.linalg.norm(row)) or 1.0
        for k in order[row[order] > 0]:
            holders[k].append((len(made), min(255, round(float(row[k]) / length * 255))))
        made.append(model.KnownCase(e.id, e.label, e.thread, e.cause, e.fix, e.gfx))
    flat = [one for some in holders for one in some]
    return {
        "cases": tuple(made),
        "held": np.array([len(some) for some in holders], dtype="<u2").tobytes(),
        "held_by": np.array([place for place, _ in flat], dtype="<u2").tobytes(),
        "held_as": bytes(amount for _, amount in flat),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the shipped weights, write nothing")
    args = parser.parse_args()
    with Pool() as pool:
        train = pool.map(read_report, [e for e in load_corpus() if not e.testing], chunksize=40)
    classes = sorted({r.entry.label for r in train})
    every = count(train)
    kept = choose_features(every, train)
    found = vectors(every, kept)
    data = pack(every, kept, classes, fit(found, train, classes), train, found)
    print(f"{len(data)} bytes, {len(kept.places)} features, {len(classes)} classes, {len(train)} reports")
    if args.check:
        same = model.WEIGHTS.is_file() and agree(data, model.WEIGHTS.read_bytes())
        print(
            "the shipped weights are those that this script makes" if same else "the shipped weights are stale; run this script"
        )
        return 0 if same else 1
    model.WEIGHTS.write_bytes(data)
    return 0


def agree(one: bytes, other: bytes) -> bool:
    """True if two weights files are the same but for the last digit of one weight in a hundred, where another processor rounds otherwise."""
    a, b = (msgspec.msgpack.decode(zlib.decompress(data), type=model.Weights) for data in (one, other))
    if (a.classes, a.words, a.worth, [c.id for c in a.cases]) != (b.classes, b.words, b.worth, [c.id for c in b.cases]):
        return False
    apart = sum(x != y for x, y in zip(a.post_weight, b.post_weight)) + abs(len(a.post_weight) - len(b.post_weight))
    return apart <= len(a.post_weight) // 100


if __name__ == "__main__":
    sys.exit(main())
