"""The weights, and what they make of one report: a probability for each diagnosis and for `none`, with what carried it.

The model is log-linear. A report is a vector of words, pieces of words and facts (tf-idf, more for words that tell diagnoses apart, each
kind scaled to one length); its product with the weights gives a score for each diagnosis; what rows found adds a fixed amount by
confidence; a softmax makes probabilities. Nothing else is in it, so that every answer can name the words and facts that it rests on.
"""

from __future__ import annotations

import math
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

WEIGHTS = Path(__file__).with_name("weights.bin")
NONE = "none"
WORTH_STEPS = 12
"""Steps of a unit of what a word counts: it is stored as a byte."""
IDF_STEPS = 24
"""Steps of a unit of a fact's idf: it is stored as a byte."""
SCALE_STEPS = 16
"""Steps in which the worth of a feature's weights is halved: it is stored as a byte."""
FACT = 0.25
"""What a fact or relation counts: each the same, however many others are known."""
FINDING_WEIGHTS = ("high", "medium", "low", "first high", "first medium", "first low", "nothing", "none")


class Case(msgspec.Struct, frozen=True, array_like=True):
    """A confirmed report that others can be likened to."""

    id: str
    label: str
    thread: str
    cause: str
    fix: str
    gfx: tuple[str, ...] = ()


class Weights(msgspec.Struct, frozen=True):
    """What scripts/train_differential.py writes: what a word of the text counts, by fact its idf, by feature the worth of one step of its
    weights, and how many of `post_class` and `post_weight` are its own. `words` tells the features of a text by their keys in order, each as its distance from the one before:
    the lowest bytes of all, then the next ones, four in all. Facts follow by name, a line each. `held`: by feature, how many cases hold
    it among their strongest; `held_by` and `held_as` tell these cases by number, and what the feature counts in each."""

    classes: tuple[str, ...]
    kinds: dict[str, float]
    words: bytes
    facts: str
    worth: bytes
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
    held: bytes = b""
    held_by: bytes = b""
    held_as: bytes = b""


class Loaded(NamedTuple):
    """The weights with what is looked up in them: the keys of features of texts in their order, the numbers of facts (behind these) and
    of classes, where each feature's weights begin, and the worth of one step of them, by the byte that tells it."""

    weights: Weights
    keys: list[int]
    fact_number: dict[str, int]
    class_number: dict[str, int]
    starts: list[int]
    worth: list[float]
    amounts: memoryview
    """The weights in steps, with their signs."""
    held: list[int]
    """By feature, where the cases that hold it begin."""
    held_by: memoryview

    def number(self, name: str) -> int | None:
        """The number of a feature of a text."""
        wanted = key(name)
        place = bisect_left(self.keys, wanted)
        return place if place < len(self.keys) and self.keys[place] == wanted else None

    def of(self, number: int) -> Iterable[tuple[int, int]]:
        """The classes that the feature speaks for or against, with its weights in steps."""
        mine = slice(self.starts[number], self.starts[number + 1])
        return zip(self.weights.post_class[mine], self.amounts[mine])

    def step(self, number: int) -> float:
        """The worth of one step of the feature's weights."""
        return self.worth[self.weights.scale[number]]


class Vector(NamedTuple):
    """A report as the model sees it: the numbers of its features with their values, and their names."""

    values: dict[int, float]
    names: dict[int, str]


def key(name: str) -> int:
    """The entry of a text feature in the weights: its name comes with the text."""
    return zlib.crc32(name.encode())


@cache
def load(path: Path = WEIGHTS) -> Loaded | None:
    """The shipped weights; None in a checkout where they were not made yet."""
    if not path.is_file():
        return None
    weights = msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=Weights)
    keys = list(accumulate(_distances(weights.words)))
    facts = weights.facts.split("\n")
    return Loaded(
        weights,
        keys,
        dict(zip(facts, range(len(keys), len(keys) + len(facts)))),
        dict(zip(weights.classes, range(len(weights.classes)))),
        [0, *accumulate(weights.counts)],
        [2 ** (-step / SCALE_STEPS) for step in range(256)],
        memoryview(weights.post_weight).cast("b"),
        [0, *accumulate(memoryview(weights.held).cast("H"))],
        memoryview(weights.held_by).cast("H"),
    )


def _distances(planes: bytes) -> Iterable[int]:
    """The numbers whose bytes these are, all lowest ones first."""
    count = len(planes) // 4
    mixed = bytearray(len(planes))
    for byte in range(4):
        mixed[byte::4] = planes[byte * count : (byte + 1) * count]
    return struct.unpack(f"<{count}I", mixed)


def vector(loaded: Loaded, text: Mapping[str, int], facts: Iterable[str]) -> Vector:
    """The report's features: words (1 + log count) times what they count, each kind scaled to its length; facts FACT each."""
    weights = loaded.weights
    names = {loaded.fact_number[fact]: fact for fact in facts if fact in loaded.fact_number}
    made = dict.fromkeys(names, FACT)
    found: dict[str, dict[int, float]] = {kind: {} for kind in weights.kinds}
    for name, count in text.items():
        number = loaded.number(name)
        if number is not None:
            names[number] = name
            found[name[0]][number] = (1 + math.log(count)) * weights.worth[number] / WORTH_STEPS
    for kind, values in found.items():
        length = math.sqrt(sum(v * v for v in values.values()))
        made.update((number, v * weights.kinds[kind] / length) for number, v in values.items())
    return Vector(made, names)


def scores(loaded: Loaded, report: Vector, findings: Iterable[str]) -> list[float]:
    """The score of each class: words and facts, how common it is, and what rows found."""
    weights = loaded.weights
    made = [0.0] * len(weights.classes)
    for number, value in report.values.items():
        step = value * loaded.step(number)
        for place, amount in loaded.of(number):
            made[place] += step * amount
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
    for name, number in loaded.fact_number.items():
        if fact := fact_of(name):
            mean = square = 0.0
            for place, amount in loaded.of(number):
                mean += made[place] * amount
                square += made[place] * amount * amount
            step = weights.steepness * FACT * loaded.step(number)
            common = math.exp(-weights.idf[number - len(weights.worth)] / IDF_STEPS)
            found[fact] = found.get(fact, 0.0) + common * (square - mean * mean) * step * step / 2
    return found


def strongest(loaded: Loaded, report: Vector, name: str, most: int = 8) -> list[tuple[str, float]]:
    """The features that speak most for this class (weights are against the mean of all classes), strongest first."""
    weights, starts = loaded.weights, loaded.starts
    wanted = loaded.class_number[name]
    found: list[tuple[str, float]] = []
    for number, value in report.values.items():
        place = weights.post_class.find(wanted, starts[number], starts[number + 1])
        if place >= 0 and loaded.amounts[place] > 0:
            found.append((report.names[number], value * loaded.step(number) * loaded.amounts[place]))
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]


def similar(loaded: Loaded, report: Vector, most: int = 8, least: float = 0.25) -> list[tuple[Case, float]]:
    """The confirmed reports nearest to this one (cosine of the features that they share), nearest first."""
    cases, amounts = loaded.weights.cases, loaded.weights.held_as
    shared = [0.0] * len(cases)
    for number, value in report.values.items():
        mine = slice(loaded.held[number], loaded.held[number + 1])
        for place, amount in zip(loaded.held_by[mine], amounts[mine]):
            shared[place] += value * amount
    length = 255 * (math.sqrt(sum(v * v for v in report.values.values())) or 1.0)
    near = [(-amount / length, place) for place, amount in enumerate(shared) if amount / length >= least]
    return [(cases[place], -amount) for amount, place in sorted(near)[:most]]
