"""The weights, and what they make of one text: a share for each diagnosis and for `none`, and the solved reports nearest to it.

The model is log-linear. A text is a vector of words and pieces of words (tf-idf, more for words that tell diagnoses apart, each kind
scaled to one length). A feature is a string whose first letter tells its kind: `w` one to three words in a row, `c` a piece of a word, `t`
a word of the first line. The vector's product with the weights gives a score for each diagnosis, and a softmax makes shares of the scores.
"""

from __future__ import annotations

import math
import struct
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex

WEIGHTS = Path(__file__).with_name("weights.bin")
NONE = "none"
WORTH_STEPS = 12
"""Steps of a unit of what a word counts: it is stored as a byte."""
SCALE_STEPS = 16
"""Steps in which the worth of a feature's weights is halved: it is stored as a byte."""


class KnownCase(msgspec.Struct, frozen=True, array_like=True):
    """A confirmed report. `label`: its diagnosis; `thread`: where it is; `cause`, `fix`: in a sentence; `gfx`: the targets that
    it names."""

    id: str
    label: str
    thread: str
    cause: str
    fix: str
    gfx: tuple[str, ...] = ()


class Weights(msgspec.Struct, frozen=True):
    """The file that scripts/train_differential.py writes: a list of features, sorted by key, and what belongs to each of them."""

    classes: tuple[str, ...]
    kinds: dict[str, float]
    """By kind of feature, the length of its part of a vector."""
    words: bytes
    """The key of each feature as its distance from the one before: the lowest bytes of all, then the next ones, four in all."""
    worth: bytes
    """By feature, what one occurrence counts."""
    scale: bytes
    """By feature, the worth of one step of its weights."""
    counts: bytes
    """By feature, how many of `post_class` and `post_weight` are its own."""
    post_class: bytes
    post_weight: bytes
    bias: tuple[float, ...]
    """By class, the score of an empty text."""
    cases: tuple[KnownCase, ...] = ()
    held: bytes = b""
    """By feature, how many cases have it among their strongest; `held_by` numbers these cases, `held_as` is its weight in each."""
    held_by: bytes = b""
    held_as: bytes = b""


class Loaded(NamedTuple):
    """The weights with what is looked up in them."""

    weights: Weights
    keys: list[int]
    """The keys of all features, ascending."""
    starts: list[int]
    """By feature, where its weights begin."""
    worth: list[float]
    """The worth of one step, by the byte that means it."""
    amounts: memoryview
    """The weights in steps, with their signs."""
    held: list[int]
    """By feature, where the cases that hold it begin."""
    held_by: memoryview


_TOKEN = regex(r"<name>|gfx[0-9a-f]+|[a-z]+(?:_[a-z]+)+|[a-z]+|(?<!\d)\d+(?:\.\d+)+|0x[0-9a-f]+|[^\W\d_]+")
_STOP = frozenset((
    "the", "a", "an", "is", "are", "was", "were", "be", "been", "to", "of", "in", "on", "and", "or", "it", "this",
    "that", "i", "my", "me", "we", "you", "with", "for", "at", "as", "by", "from",
))  # fmt: skip
PIECE = (4, 5)


def words(text: str) -> list[str]:
    """Tokens in lower case: words, identifiers, versions by their first two numbers, targets, `<name>` for people."""
    found = []
    for token in _TOKEN.findall(text.lower()):
        if token[0].isdigit():
            token = "#0x" if token.startswith("0x") else ".".join(token.split(".")[:2])
        found.append(token[:40])
    return found


def text_features(text: str) -> Counter[str]:
    """Words, pairs and triples of words, pieces of longer words, and words of the first line, with how often each occurs.

    >>> sorted(name for name in text_features("GPU gone") if name[0] in "tw")
    ['t:gone', 't:gpu', 'w:gone', 'w:gpu', 'w:gpu gone']
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n")):
        tokens = words(line)
        counts.update("w:" + t for t in tokens)
        content = [t for t in tokens if t not in _STOP]
        counts.update(f"w:{a} {b}" for a, b in pairwise(content))
        counts.update(f"w:{a} {b} {c}" for a, b, c in zip(tokens, tokens[1:], tokens[2:]))
        if number == 0:
            counts.update("t:" + t for t in tokens)
        for token in set(tokens):
            if len(token) > 3 and not token[0].isdigit():
                padded = f"^{token}$"
                counts.update({"c:" + padded[i : i + n] for n in PIECE for i in range(len(padded) - n + 1)})
    return counts


def key(name: str) -> int:
    """The key of a feature: the weights hold no names."""
    return zlib.crc32(name.encode())


@cache
def load(path: Path = WEIGHTS) -> Loaded | None:
    """The shipped weights; None in a checkout where they were not made yet."""
    if not path.is_file():
        return None
    weights = msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=Weights)
    return Loaded(
        weights,
        list(accumulate(_distances(weights.words))),
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


def vector(loaded: Loaded, text: Mapping[str, int]) -> dict[int, float]:
    """By number of a feature, its value in a text: (1 + log count) times what it counts, each kind scaled to its length."""
    weights, keys = loaded.weights, loaded.keys
    found: dict[str, dict[int, float]] = {kind: {} for kind in weights.kinds}
    for name, count in text.items():
        wanted = key(name)
        number = bisect_left(keys, wanted)
        if number < len(keys) and keys[number] == wanted:
            found[name[0]][number] = (1 + math.log(count)) * weights.worth[number] / WORTH_STEPS
    made: dict[int, float] = {}
    for kind, values in found.items():
        length = math.sqrt(sum(v * v for v in values.values()))
        made.update((number, v * weights.kinds[kind] / length) for number, v in values.items())
    return made


def shares(loaded: Loaded, report: Mapping[int, float]) -> dict[str, float]:
    """The share of each class, the largest first; they add up to 1."""
    weights = loaded.weights
    scores = list(weights.bias)
    for number, value in report.items():
        mine = slice(loaded.starts[number], loaded.starts[number + 1])
        step = value * loaded.worth[weights.scale[number]]
        for place, amount in zip(weights.post_class[mine], loaded.amounts[mine]):
            scores[place] += step * amount
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    ranked = sorted(zip(powers, weights.classes), key=lambda one: -one[0])
    return {name: power / total for power, name in ranked}


def similar(loaded: Loaded, report: Mapping[int, float], most: int = 8, least: float = 0.25) -> list[tuple[KnownCase, float]]:
    """At most `most` confirmed reports with a cosine of at least `least` to this one, each with its cosine, nearest first. Of
    each only its sixty strongest features are held, so the cosine is a lower bound."""
    cases, amounts = loaded.weights.cases, loaded.weights.held_as
    shared = [0.0] * len(cases)
    for number, value in report.items():
        mine = slice(loaded.held[number], loaded.held[number + 1])
        for place, amount in zip(loaded.held_by[mine], amounts[mine]):
            shared[place] += value * amount
    length = 255 * (math.sqrt(sum(v * v for v in report.values())) or 1.0)
    near = [(-amount / length, place) for place, amount in enumerate(shared) if amount / length >= least]
    return [(cases[place], -amount) for amount, place in sorted(near)[:most]]
