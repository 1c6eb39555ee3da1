"""Guesses of the speed of configurations that were not run, from those that were: a Gaussian process over the logarithm of tokens a second.

The kernel says what two configurations share: the micro-batch, the value of each factor, that value at a similar micro-batch, pairs of values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter, eq, mul

from rocm_doctor.tune.space import FACTORS, Choice

LEVEL, BATCH, VALUE, TOGETHER, PAIR = 1.0, 0.4, 0.2, 0.2, 0.05
"""How far, in natural logarithms, speeds differ in general, by the micro-batch, by a factor's value, by that and the micro-batch, and by
two values that are more or less than the sum of each.
"""
NOISE = 0.04
"""How far two runs of one configuration differ."""
REACH = 1.5
"""Doublings of the micro-batch within which its effect is similar."""
_settings = attrgetter(*FACTORS)


class Guesses:
    """The process, after so many runs. `speeds`: tokens a second by configuration, at least one."""

    def __init__(self, speeds: Mapping[Choice, float]) -> None:
        self.known = list(speeds)
        self.level = math.log(max(speeds.values()))
        self.root = cholesky([[kernel(a, b) + (NOISE**2 if a == b else 0.0) for b in self.known] for a in self.known])
        self.scaled = solved(self.root, [math.log(speed) - self.level for speed in speeds.values()])

    def best(self, choice: Choice, hope: float) -> float:
        """The expected tokens a second, and so many standard deviations more."""
        part = solved(self.root, [kernel(choice, one) for one in self.known])
        mean = self.level + sum(map(mul, part, self.scaled))
        return math.exp(mean + hope * math.sqrt(max(0.0, kernel(choice, choice) - sum(map(mul, part, part)))))


def kernel(a: Choice, b: Choice) -> float:
    """The covariance of the speeds of two configurations."""
    near = _likeness(a.batch, b.batch)
    same: int = sum(map(eq, _settings(a), _settings(b)))
    return LEVEL**2 + BATCH**2 * near + same * (VALUE**2 + TOGETHER**2 * near) + PAIR**2 * same * (same - 1) / 2


@lru_cache(4096)
def _likeness(batch: int, other: int) -> float:
    """How much alike the effects of two micro-batches are, from 0 to 1."""
    return math.exp(-((math.log2(batch / other) / REACH) ** 2) / 2)


def cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle whose product with its transpose is the matrix."""
    root: list[list[float]] = []
    for n, row in enumerate(matrix):
        line: list[float] = []
        for m in range(n):
            line.append((row[m] - sum(map(mul, line, root[m]))) / root[m][m])
        root.append([*line, math.sqrt(row[n] - sum(map(mul, line, line)))])
    return root


def solved(root: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """The vector whose product with the lower triangle is `values`."""
    found: list[float] = []
    for line, value in zip(root, values):
        found.append((value - sum(map(mul, line, found))) / line[-1])
    return found
