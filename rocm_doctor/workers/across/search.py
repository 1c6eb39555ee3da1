"""The slow or wrong rank, node or pair of them: units are measured two by two, in rounds in which each is in one pair.

A unit is a list of ranks: a node, or one rank. Pure logic: `measure` runs groups of ranks at once and returns what each showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Unit = Sequence[int]
    Pair = tuple[int, int]

SLOW_RATIO = 3.0
"""How many times as long as usual a slow pair takes."""
SLOW_SECONDS = 0.02
"""And how many seconds longer: below that it is the noise of a busy machine."""
ROUNDS = 15
"""Rounds at most: of up to 16 units every pair is measured, of more units 15 pairs each."""


class Shown(NamedTuple):
    """What a group showed: seconds of its best repetition, and whether a number was wrong."""

    seconds: float
    wrong: bool


if TYPE_CHECKING:
    Measure = Callable[[list[list[int]]], list[Shown]]


def find_culprits(measure: Measure, units: Sequence[Unit]) -> list[tuple[str, list[Unit]]]:
    """Each symptom, `wrong` or `slow`, with its culprit: one unit, or two whose pair is bad. Bad pairs are measured again, one by
    one: on a busy machine any pair may be slow once. Usual is what the faster pairs take."""
    rounds = list(list_rounds(len(units)))
    seen = measure_pairs(measure, units, rounds)
    usual = sorted(one.seconds for one in seen.values())[len(seen) // 4] if seen else 0.0
    found: list[tuple[str, list[Unit]]] = []
    for symptom in ("wrong", "slow"):
        bad = {pair for pair, shown in seen.items() if _shows(symptom, shown, usual)}
        again = measure_pairs(measure, units, [[pair] for pair in sorted(bad)])
        bad = {pair for pair, shown in again.items() if _shows(symptom, shown, usual)}
        alone = []
        for number in range(len(units)):
            own = [pair for pair in seen if number in pair]
            alone += [number] if len(own) > 1 and bad.issuperset(own) else []
        found += [(symptom, [units[number]]) for number in alone]
        found += [(symptom, [units[one], units[other]]) for one, other in sorted(bad) if not {one, other} & set(alone)]
    return found


def list_rounds(number: int) -> Iterator[list[Pair]]:
    """Rounds in which each of `number` units is in one pair, or rests; no pair comes twice (the circle method of tournaments)."""
    places = list(range(number + number % 2))
    for _ in range(min(len(places) - 1, ROUNDS)):
        half = len(places) // 2
        pairs = [(min(pair), max(pair)) for pair in zip(places[:half], reversed(places[half:]))]
        yield [pair for pair in pairs if pair[1] < number]
        places[1:] = [places[-1], *places[1:-1]]


def measure_pairs(measure: Measure, units: Sequence[Unit], rounds: Sequence[Sequence[Pair]]) -> dict[Pair, Shown]:
    """What each pair showed; those of a round are measured at once."""
    found: dict[Pair, Shown] = {}
    for pairs in filter(None, rounds):
        found.update(zip(pairs, measure([[*units[one], *units[other]] for one, other in pairs])))
    return found


def _shows(symptom: str, shown: Shown, usual: float) -> bool:
    if symptom == "wrong":
        return shown.wrong
    return shown.seconds > SLOW_RATIO * usual and shown.seconds > usual + SLOW_SECONDS
