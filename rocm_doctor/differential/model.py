"""The weights, and what they make of one report: a probability for each diagnosis and for `none`, with what carried it.

The model is log-linear. A report is a vector of words, pieces of words and facts (tf-idf, each kind scaled to one length); its
product with the weights gives a score for each diagnosis; what rows found adds a fixed amount by confidence; a softmax makes
probabilities. Nothing else is in it, so that every answer can name the words and facts that it rests on.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

WEIGHTS = Path(__file__).with_name("weights.bin")
NONE = "none"
IDF_STEPS = 24
"""Steps of a unit of idf: it is stored as a byte."""
FACT = 0.25
"""What a fact or relation counts: each the same, however many others are known."""
FINDING_WEIGHTS = ("high", "medium", "low", "first high", "first medium", "first low", "nothing", "none")


class Case(msgspec.Struct, frozen=True, array_like=True):
    """A confirmed report that others can be likened to: its features by number and their weights, a byte each."""

    id: str
    label: str
    thread: str
    cause: str
    fix: str
    features: tuple[int, ...]
    values: bytes


class Weights(msgspec.Struct, frozen=True):
    """What scripts/train_differential.py writes: by feature its name (a line of `features`), its idf, the worth of one step of its
    weights (two bytes), and how many of `post_class` and `post_weight` are its own."""

    classes: tuple[str, ...]
    kinds: dict[str, float]
    features: str
    idf: bytes
    scale: bytes
    counts: bytes
    post_class: bytes
    post_weight: bytes
    bias: tuple[float, ...]
    steepness: float
    findings: tuple[float, ...]
    doubt: float
    first: tuple[float, float]
    cases: tuple[Case, ...] = ()


class Loaded(NamedTuple):
    """The weights with what is looked up in them: the features by number, the number of each and of each class, the worth of a step of
    its weights, and where these begin."""

    weights: Weights
    features: list[str]
    number: dict[str, int]
    class_number: dict[str, int]
    scale: tuple[float, ...]
    starts: list[int]


@cache
def load(path: Path = WEIGHTS) -> Loaded | None:
    """The shipped weights; None in a checkout where they were not made yet."""
    if not path.is_file():
        return None
    weights = msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=Weights)
    features = weights.features.split("\n")
    number, class_number = (dict(zip(names, range(len(names)))) for names in (features, weights.classes))
    scale = struct.unpack(f"<{len(features)}e", weights.scale)
    return Loaded(weights, features, number, class_number, scale, [0, *accumulate(weights.counts)])


def vector(loaded: Loaded, text: Mapping[str, int], facts: Iterable[str]) -> dict[int, float]:
    """The report as feature numbers and values: words (1 + log count) times idf, each kind scaled to its length; facts FACT each."""
    weights = loaded.weights
    made = {loaded.number[fact]: FACT for fact in facts if fact in loaded.number}
    found: dict[str, dict[int, float]] = {kind: {} for kind in weights.kinds}
    for name, count in text.items():
        number = loaded.number.get(name)
        if number is not None:
            found[name[0]][number] = (1 + math.log(count)) * (1 + weights.idf[number] / IDF_STEPS)
    for kind, values in found.items():
        length = math.sqrt(sum(v * v for v in values.values()))
        made.update((number, v * weights.kinds[kind] / length) for number, v in values.items())
    return made


def scores(loaded: Loaded, values: Mapping[int, float], findings: Iterable[str]) -> list[float]:
    """The score of each class: words and facts, how common it is, and what rows found."""
    weights = loaded.weights
    made = [0.0] * len(weights.classes)
    starts, classes, amounts = loaded.starts, weights.post_class, weights.post_weight
    for number, value in values.items():
        step = value * loaded.scale[number]
        for place in range(starts[number], starts[number + 1]):
            amount = amounts[place]
            made[classes[place]] += step * (amount - 256 if amount > 127 else amount)
    made = [weights.steepness * s + b for s, b in zip(made, weights.bias)]
    for name, gain in finding_scores(findings, weights.findings):
        if name in loaded.class_number:
            made[loaded.class_number[name]] += gain
    return made


def finding_scores(findings: Iterable[str], amounts: Sequence[float]) -> Iterable[tuple[str, float]]:
    """What the findings of rows and rules (features of kind `r`) add, by diagnosis."""
    by_name = dict(zip(FINDING_WEIGHTS, amounts))
    for name in sorted(set(findings)):
        words = name[2:].split(" ")
        if name == "r:nothing":
            yield NONE, by_name["nothing"]
        elif len(words) > 1 and words[-1] in ("high", "medium", "low") and words[0] != "note":
            yield words[-2], by_name[f"first {words[-1]}" if words[0] == "first" else words[-1]]


def probabilities(loaded: Loaded, made: Sequence[float]) -> list[float]:
    """Softmax of the scores; a share of doubt is spread over all classes, for causes that the model does not see coming. The first
    class then gets the probability with which a first class like it was right on reports that the model had not seen."""
    top = max(made)
    powers = [math.exp(s - top) for s in made]
    total, doubt = sum(powers), loaded.weights.doubt
    shares = [(1 - doubt) * p / total + doubt / len(powers) for p in powers]
    place = max(range(len(shares)), key=shares.__getitem__)
    first = shares[place]
    start, slope = loaded.weights.first
    meant = 1 / (1 + math.exp(-(start + slope * math.log(first / (1 - first)))))
    return [meant if n == place else share * (1 - meant) / (1 - first) for n, share in enumerate(shares)]


def gains(loaded: Loaded, made: Sequence[float], fact_of: Callable[[str], str]) -> dict[str, float]:
    """By fact, how much its value is expected to tell the classes apart: half the variance of its weights under these probabilities,
    for each value times how common the value is. To second order this is the gain of information."""
    weights = loaded.weights
    found: dict[str, float] = {}
    for name, number in loaded.number.items():
        fact = fact_of(name) if name[0] == "f" else ""
        if fact:
            mean = square = 0.0
            for place in range(loaded.starts[number], loaded.starts[number + 1]):
                amount = weights.post_weight[place]
                amount = amount - 256 if amount > 127 else amount
                mean += made[weights.post_class[place]] * amount
                square += made[weights.post_class[place]] * amount * amount
            step = weights.steepness * FACT * loaded.scale[number]
            common = math.exp(-weights.idf[number] / IDF_STEPS)
            found[fact] = found.get(fact, 0.0) + common * (square - mean * mean) * step * step / 2
    return found


def carried_by(loaded: Loaded, values: Mapping[int, float], name: str, most: int = 8) -> list[tuple[str, float]]:
    """The features that speak most for this class against the average of the others, strongest first."""
    weights = loaded.weights
    wanted = loaded.class_number[name]
    count = len(weights.classes)
    found: list[tuple[str, float]] = []
    for number, value in values.items():
        own = total = 0.0
        for place in range(loaded.starts[number], loaded.starts[number + 1]):
            amount = weights.post_weight[place]
            amount = amount - 256 if amount > 127 else amount
            total += amount
            if weights.post_class[place] == wanted:
                own = amount
        gain = value * loaded.scale[number] * (own - (total - own) / (count - 1))
        if gain > 0:
            found.append((loaded.features[number], gain))
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]


def similar(loaded: Loaded, values: Mapping[int, float], most: int = 3, least: float = 0.18) -> list[tuple[Case, float]]:
    """The confirmed reports nearest to this one (cosine of the features that they share), nearest first."""
    length = 255 * (math.sqrt(sum(v * v for v in values.values())) or 1.0)
    near = []
    for place, case in enumerate(loaded.weights.cases):
        shared = sum(values[number] * byte for number, byte in zip(case.features, case.values) if number in values) / length
        if shared >= least:
            near.append((-shared, place))
    return [(loaded.weights.cases[place], -shared) for shared, place in sorted(near)[:most]]
