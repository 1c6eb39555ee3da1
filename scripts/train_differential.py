"""Learn the weights of the differential from the labelled reports, and measure them.

    python scripts/train_differential.py            # write rocm_doctor/differential/weights.bin
    python scripts/train_differential.py --check    # say whether the shipped weights are those that this makes
    python scripts/train_differential.py --measure  # cross-validate (minutes): calibration and figures, into docs/differential.json

Multinomial logistic regression on words, pieces of words and facts. What rows found is weighed apart, on real reports that the rows
had not seen: written reports and those that rows were written for would flatter them. How much that adds, and how steep the
probabilities are, comes from scores that a model gave which had not seen the thread: `--measure` fits five such models, the other
calls take its numbers from docs/differential.json. Reports for testing are never trained on.
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
import multinomial
import numpy as np
from corpus import Entry
from corpus import load as load_corpus
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from rocm_doctor import pipeline
from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint, text_of
from rocm_doctor.differential.features import finding_features, text_features
from rocm_doctor.differential.relations import relations
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load as load_matrix
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import failure_lines
from rocm_doctor.rules.engine import judge as judge_rows
from rocm_doctor.rules.logs import Logs, readable_logs
from rocm_doctor.sources.paste import cut

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "differential.json"
KINDS = {"w": 1.0, "c": 1.0, "t": 1.0, "p": 0.5}
"""Lengths of the vectors of words, of pieces of words, of words of the first line, and of pairs of words of one sentence."""
KEPT = {"w": 20_000, "c": 12_000, "t": 4_000, "p": 14_000}
"""Features kept of each kind, by chi-square; all facts are kept."""
LEAST = {"f": 2}
"""Reports that have to hold a feature; three, where it is a word."""
TELLING = 0.5
"""How much of what a word counts depends on how well it tells the diagnoses apart."""
SEEN = 3.0
"""Reports as common as all that each word is taken to be in, too: one that is in few reports tells little by itself."""
STRENGTH = 2.0
"""Inverse of the penalty on weights."""
STEPS = 80
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
FOLDS = 5


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
        dict(text_features(words)),
        tuple(sorted(set(relations(snapshot, _MATRIX, words)))),
        tuple(sorted(set(finding_features(findings)))),
    )


def reports(entries: Sequence[Entry]) -> list[Report]:
    with Pool() as pool:
        return pool.map(featured, entries, chunksize=40)


class Counted(NamedTuple):
    """How often each report holds each feature, with the features' names and kinds."""

    names: np.ndarray
    kinds: np.ndarray
    counts: csr_matrix

    def held(self, inside: Sequence[int]) -> np.ndarray:
        """By feature, how many of these reports hold it."""
        return np.asarray((self.counts[inside] > 0).sum(axis=0)).ravel()


def counted(some: Sequence[Report]) -> Counted:
    vectorizer = DictVectorizer(dtype=np.float32)
    counts = vectorizer.fit_transform({**report.text, **dict.fromkeys(report.facts, 1)} for report in some)
    names = np.array(vectorizer.feature_names_, dtype=object)
    every = Counted(names, np.array([name[0] for name in names]), counts)
    enough = every.held(range(len(some))) >= 2
    # Of two texts with one key the first is kept: the weights know features of a text by their keys.
    first = np.zeros(len(names), dtype=bool)
    first[np.unique([model.key(str(name)) for name in names], return_index=True)[1]] = True
    enough &= first
    return Counted(every.names[enough], every.kinds[enough], every.counts[:, enough])


class Space(NamedTuple):
    """The features that are kept, by their places among all, those of texts by their keys and then the facts, with what one of a text
    counts, and how rare a fact is (idf), as they are stored."""

    places: np.ndarray
    worth: bytes
    idf: bytes


def space(every: Counted, train: Sequence[Report], inside: Sequence[int]) -> Space:
    """Features that tell labels apart: facts all, words and pieces by chi-square over the reports inside."""
    held = every.held(inside)
    value = np.nan_to_num(chi2(every.counts[inside] > 0, [train[n].entry.label for n in inside])[0])
    places: list[int] = []
    for kind in (*KINDS, "f"):
        mine = np.flatnonzero((every.kinds == kind) & (held >= LEAST.get(kind, 3)))
        places += [int(n) for n in mine[np.lexsort((mine, -value[mine]))][: KEPT.get(kind, len(mine))]]
    places.sort(key=lambda n: (every.kinds[n] == "f", model.key(str(every.names[n])), n))
    idf = np.log((1 + len(inside)) / (1 + held[places]))
    words = int((every.kinds[places] != "f").sum())
    worth = (1 + idf[:words]) * telling(every.counts[inside][:, places[:words]] > 0, [train[n] for n in inside])
    return Space(np.array(places), _bytes(worth, model.WORTH_STEPS), _bytes(idf[words:], model.IDF_STEPS))


def _bytes(values: np.ndarray, steps: int) -> bytes:
    return bytes(min(255, round(float(value) * steps)) for value in values)


def telling(held: csr_matrix, train: Sequence[Report]) -> np.ndarray:
    """By feature, what it counts beside the others: how far the diagnoses of the reports that hold it are from those of all reports
    (Kullback-Leibler divergence), against the mean of all features."""
    classes = sorted({r.entry.label for r in train})
    shares = wanted(train, classes) * often(train)[:, None]
    common = shares.sum(axis=0) / shares.sum()
    found = np.asarray(held.T @ shares) + SEEN * common
    found /= found.sum(axis=1, keepdims=True)
    apart = (found * np.log(found / common)).sum(axis=1)
    return np.asarray(1 - TELLING + TELLING * apart / apart.mean())


def vectors(every: Counted, kept: Space) -> csr_matrix:
    """The reports as the model sees them (model.vector), a row each."""
    found = every.counts[:, kept.places].tocsr().astype(float)
    worth = np.ones(len(kept.places))
    worth[: len(kept.worth)] = np.frombuffer(kept.worth, dtype=np.uint8) / model.WORTH_STEPS
    found.data = (1 + np.log(found.data)) * worth[found.indices]
    kinds = every.kinds[kept.places]
    lengths = {kind: normalize(found.multiply(kinds == kind).tocsr()) * KINDS[kind] for kind in KINDS}
    facts = (found.multiply(kinds == "f") > 0) * model.FACT
    return sum(lengths.values(), facts).tocsr()


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
    counts = often(train)
    own, start = multinomial.fit(products, wanted(train, classes), counts * len(train) / counts.sum(), STRENGTH, STEPS)
    weights = found.T @ (own * (1 + REAL_OWN * real)[:, None])
    kept, steps = stored(np.asarray(weights), np.asarray((found > 0).sum(axis=0)).ravel())
    return Fitted(kept, start, steps)


def wanted(train: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    """The share of each class in each report."""
    place = {c: n for n, c in enumerate(classes)}
    made = np.full((len(train), len(classes)), SMOOTH / len(classes))
    for n, report in enumerate(train):
        shares = {**dict.fromkeys(report.entry.acceptable, ACCEPTABLE), report.entry.label: 1.0}
        for label, share in shares.items():
            if label in place:
                made[n, place[label]] += (1 - SMOOTH) * share / sum(shares.values())
    return made


def often(train: Sequence[Report]) -> np.ndarray:
    """How much each report counts."""
    return np.array([REAL_WEIGHT if r.entry.confirmed else READ_WEIGHT if r.entry.real else 1.0 for r in train])


def stored(weights: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    worth: np.ndarray = 2.0 ** (-steps.astype(float) / model.SCALE_STEPS)
    return worth


class Calibration(msgspec.Struct, frozen=True):
    """How scores become probabilities: steepness, weight of how common a class is, what findings add, the share that is doubt, and
    the line (in log odds) from the probability of the first class to how often it, or one as acceptable, is the cause."""

    steepness: float
    common: float
    findings: tuple[float, ...]
    doubt: float
    first: tuple[float, float] = (0.0, 1.0)

    @property
    def vector(self) -> np.ndarray:
        return np.asarray(np.r_[self.steepness, self.common, self.findings, self.doubt])


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


def calibrated(scores: np.ndarray, common: np.ndarray, findings: np.ndarray, right: np.ndarray) -> Calibration:
    """The few numbers that turn scores into probabilities, by likelihood over real reports."""

    def loss(v: np.ndarray) -> float:
        p = probabilities(scores, common, findings, v)
        return float(-np.log((p * right).sum(axis=1) + 1e-9).mean() + 0.002 * (v[1:-1] ** 2).sum())

    start = np.r_[1.0, 0.3, np.zeros(len(model.FINDING_WEIGHTS)), 0.05]
    bounds = [(0.05, 5.0), (-2, 2), *[(-6.0, 6.0)] * len(model.FINDING_WEIGHTS), (0.005, 0.3)]
    found = minimize(loss, start, method="L-BFGS-B", bounds=bounds).x
    shares = probabilities(scores, common, findings, found)
    top = shares.max(axis=1)
    line = LogisticRegression(C=1e3).fit(np.log(top / (1 - top))[:, None], right[np.arange(len(top)), shares.argmax(axis=1)])
    first = (float(line.intercept_[0]), float(line.coef_[0, 0]))
    return Calibration(float(found[0]), float(found[1]), tuple(float(x) for x in found[2:-1]), float(found[-1]), first)


def sharpened(shares: np.ndarray, first: tuple[float, float]) -> np.ndarray:
    """The shares with the first class as often right as it says (model.probabilities does the same)."""
    place = (np.arange(len(shares)), shares.argmax(axis=1))
    top = shares[place]
    meant = 1 / (1 + np.exp(-(first[0] + first[1] * np.log(top / (1 - top)))))
    made = shares * ((1 - meant) / (1 - top))[:, None]
    made[place] = meant
    return np.asarray(made)


def probabilities(scores: np.ndarray, common: np.ndarray, findings: np.ndarray, v: np.ndarray) -> np.ndarray:
    z = v[0] * scores + v[1] * common + np.einsum("r,nrk->nk", v[2:-1], findings)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    made: np.ndarray = (1 - v[-1]) * z / z.sum(axis=1, keepdims=True) + v[-1] / z.shape[1]
    return made


def right_of(some: Sequence[Report], classes: Sequence[str]) -> np.ndarray:
    place = {c: n for n, c in enumerate(classes)}
    made = np.zeros((len(some), len(classes)))
    for n, report in enumerate(some):
        for label in report.right:
            made[n, place[label]] = 1
    return made


def judged(train: Sequence[Report]) -> list[int]:
    """The places of the real reports that the rows had not seen: what is measured on."""
    return [n for n, r in enumerate(train) if r.entry.confirmed and not r.entry.rows_saw_it]


def folds(train: Sequence[Report]) -> np.ndarray:
    """By report, the fifth of the confirmed threads that it belongs to, -1 where to none."""
    threads = (r.entry.thread if r.entry.confirmed else "" for r in train)
    return np.array([int(hashlib.md5(thread.encode()).hexdigest(), 16) % FOLDS if thread else -1 for thread in threads])


def unseen_scores(train: Sequence[Report], every: Counted, classes: Sequence[str]) -> np.ndarray:
    """The scores of `judged`, each by a model that had not seen its fold of real reports, not even to choose features."""
    some, fold = judged(train), folds(train)
    scores = np.zeros((len(some), len(classes)))
    for number in range(FOLDS):
        inside = np.flatnonzero(fold != number).tolist()
        outside = [n for n in some if fold[n] == number]
        found = vectors(every, space(every, train, inside))
        fitted = fit(found[inside], [train[n] for n in inside], classes)
        scores[fold[some] == number] = found[outside] @ fitted.weights + fitted.start
    return scores


def cross_validated(train: Sequence[Report], classes: Sequence[str], scores: np.ndarray) -> tuple[list[Report], np.ndarray]:
    """Real reports that the rows had not seen, each with the probabilities of a model and a calibration that had not seen it."""
    some = [train[n] for n in judged(train)]
    common, findings, right = commonness(train, classes), finding_matrix(some, classes), right_of(some, classes)
    fold = folds(some)
    made = np.zeros(scores.shape)
    for f in range(FOLDS):
        inside = fold != f
        one = calibrated(scores[inside], common, findings[inside], right[inside])
        made[~inside] = sharpened(probabilities(scores[~inside], common, findings[~inside], one.vector), one.first)
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


def packed(
    every: Counted,
    kept: Space,
    classes: Sequence[str],
    fitted: Fitted,
    made: Calibration,
    train: Sequence[Report],
    found: csr_matrix,
) -> bytes:
    """The weights file. A feature whose weights are all zero stays: it is a part of the length of a report."""
    names, facts = every.names[kept.places], every.kinds[kept.places] == "f"
    keys = [model.key(str(name)) for name in names[~facts]]
    counts, post_class, post_weight = bytearray(), bytearray(), bytearray()
    for row, worth in zip(fitted.weights, worth_of(fitted.steps)):
        held = np.flatnonzero(row)
        counts.append(len(held))
        post_class += bytes(held.tolist())
        post_weight += bytes(round(float(row[k] / worth)) & 255 for k in held)
    bias = made.common * commonness(train, classes) + made.steepness * fitted.start
    bias[list(classes).index(model.NONE)] += made.findings[-1]
    weights = model.Weights(
        classes=tuple(classes), kinds=KINDS, words=np.diff(keys, prepend=0).astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes(),
        facts="\n".join(names[facts]), worth=kept.worth, idf=kept.idf, scale=fitted.steps.tobytes(), counts=bytes(counts), post_class=bytes(post_class), post_weight=bytes(post_weight), bias=tuple(round(float(b), 2) for b in bias),
        steepness=round(made.steepness, 4), findings=tuple(round(f, 4) for f in made.findings), doubt=round(made.doubt, 4),
        first=(round(made.first[0], 4), round(made.first[1], 4)),
        **cases(train, found),
    )  # fmt: skip
    return zlib.compress(msgspec.msgpack.encode(weights), 9)


def cases(train: Sequence[Report], found: csr_matrix) -> dict[str, Any]:
    """The confirmed reports of the training set, and by feature which of them hold it among their sixty strongest."""
    made: list[model.Case] = []
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
        made.append(model.Case(e.id, e.label, e.thread, e.cause, e.fix, e.gfx))
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
    parser.add_argument("--measure", action="store_true", help="cross-validate first: calibration and figures")
    args = parser.parse_args()
    train = reports([e for e in load_corpus() if not e.testing])
    classes = sorted({r.entry.label for r in train})
    every = counted(train)
    if args.measure:
        scores = unseen_scores(train, every, classes)
        some, shares = cross_validated(train, classes, scores)
        made = calibrated(scores, commonness(train, classes), finding_matrix(some, classes), right_of(some, classes))
        figures_now = figures(some, shares, classes)
        print(json.dumps(figures_now))
        FIGURES.write_text(
            json.dumps({"calibration": msgspec.to_builtins(made), "cross-validated": figures_now}, indent=1) + "\n"
        )
    made = msgspec.convert(json.loads(FIGURES.read_text())["calibration"], Calibration)
    kept = space(every, train, range(len(train)))
    found = vectors(every, kept)
    data = packed(every, kept, classes, fit(found, train, classes), made, train, found)
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
    if (a.classes, a.words, a.facts, a.worth, a.idf, [c.id for c in a.cases]) != (
        b.classes,
        b.words,
        b.facts,
        b.worth,
        b.idf,
        [c.id for c in b.cases],
    ):
        return False
    apart = sum(x != y for x, y in zip(a.post_weight, b.post_weight)) + abs(len(a.post_weight) - len(b.post_weight))
    return apart <= len(a.post_weight) // 100


if __name__ == "__main__":
    sys.exit(main())
