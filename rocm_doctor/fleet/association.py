"""Which values go with the sick nodes: Fisher's exact test, corrected for the number of values tried (Holm)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rocm_doctor.fleet.deviations import Deviation
from rocm_doctor.fleet.types import Association

LEVEL = 0.01
"""Corrected p from which on an association is reported."""


def associated(deviations: Sequence[Deviation], sick: frozenset[int], nodes: int) -> list[Association]:
    """The values that go with sick nodes, the most certain first. Each deviation is one try."""
    if not sick or len(sick) >= nodes:
        return []
    tried = [(fisher(len(one.nodes & sick), len(one.nodes), len(sick), nodes), one) for one in deviations]
    ranked = sorted(tried, key=lambda item: (item[0], item[1].fact, item[1].value))
    found: list[Association] = []
    corrected = 0.0
    for rank, (p, one) in enumerate(ranked):
        corrected = max(corrected, min(1.0, p * (len(ranked) - rank)))
        if corrected > LEVEL:
            break
        with_ = one.nodes
        found.append(Association(one.fact, one.value, len(with_ & sick), len(with_), len(sick), nodes, corrected))
    return found


def fisher(both: int, first: int, second: int, total: int) -> float:
    """Probability of at least `both` in common between sets of `first` and `second` members out of `total`, by chance."""

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    most = min(first, second)
    least = max(0, first + second - total)
    if both <= least:
        return 1.0
    term = math.exp(log_choose(second, both) + log_choose(total - second, first - both) - log_choose(total, first))
    tail = 0.0
    for k in range(both, most + 1):
        tail += term
        if term < tail * 1e-17:
            break
        term *= (second - k) * (first - k) / ((k + 1) * (total - second - first + k + 1))
    return min(1.0, tail)
