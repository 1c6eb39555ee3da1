"""Whether two sets of samples differ by more than chance: the Mann-Whitney test, which asks nothing of their distribution.

Exact for small sets without ties, else by the normal approximation with correction for ties and continuity (Mann and Whitney, "On a
test of whether one of two random variables is stochastically larger than the other", Annals of Mathematical Statistics 18(1), 1947).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

SMALL = 20
"""Samples of either set up to which the exact distribution is used."""
LEVEL = 0.01
"""Probability of chance below which a difference counts."""
LEAST = 0.03
"""Difference below which it does not matter: two runs on one machine differ by as much."""
OF_THE_HOST = 0.10
"""The same for figures that the host's processor decides (docs/bench.md has what they differed by on an H200)."""


def probability(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided probability that samples of one distribution differ as much as these; 1 if a set has fewer than three."""
    if min(len(one), len(other)) < 3:
        return 1.0
    pooled = Counter([*one, *other])
    wins = sum((a > b) + (a == b) / 2 for a in one for b in other)
    if max(len(one), len(other)) <= SMALL and len(pooled) == len(one) + len(other):
        return _exact(wins, len(one), len(other))
    return _normal(wins, len(one), len(other), list(pooled.values()))


def differs(ratio: float, one: Sequence[float], other: Sequence[float], least: float = LEAST) -> bool:
    """True for two figures of this ratio whose difference is neither chance, by their samples, nor below `least`."""
    return abs(ratio - 1) >= least and probability(one, other) < LEVEL


@cache
def _ways(first: int, second: int, wins: int) -> int:
    """Orders of `first` and `second` samples in which the first wins that many pairs."""
    if wins < 0 or (not first and wins) or (not second and wins):
        return 0
    if not first or not second:
        return 1
    return _ways(first - 1, second, wins - second) + _ways(first, second - 1, wins)


def _exact(wins: float, first: int, second: int) -> float:
    extreme = int(min(wins, first * second - wins))
    tail = sum(_ways(first, second, k) for k in range(extreme + 1))
    return min(1.0, 2 * tail / math.comb(first + second, first))


def _normal(wins: float, first: int, second: int, ties: Sequence[int]) -> float:
    total = first + second
    tied = sum(t**3 - t for t in ties) / (total * (total - 1))
    variance = first * second / 12 * (total + 1 - tied)
    if variance <= 0:
        return 1.0
    distance = max(0.0, abs(wins - first * second / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(distance / math.sqrt(2))
