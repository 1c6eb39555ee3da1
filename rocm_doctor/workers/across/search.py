"""The slow or wrong rank, or pair of ranks, found by halving: two groups are measured at once in each round.

A unit is a list of ranks: a node, or one rank. Pure logic: `measure` runs the groups and returns what each showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Unit = Sequence[int]

SLOW_RATIO = 3.0
"""How many times as long the slower of two groups of one size must take."""
SLOW_SECONDS = 0.02
"""And how many seconds longer: below that it is the noise of a busy machine."""


class Shown(NamedTuple):
    """What a group showed: seconds of its best repetition, and whether a number was wrong."""

    seconds: float
    wrong: bool


if TYPE_CHECKING:
    Measure = Callable[[list[list[int]]], list[Shown]]


class Search:
    """Looks for units that show a symptom, `slow` or `wrong`."""

    def __init__(self, measure: Measure, symptom: str) -> None:
        self.measure = measure
        self.symptom = symptom

    def confirm(self, units: Sequence[Unit], whole: Shown) -> list[list[Unit]]:
        """The culprits that show the symptom a second time next to sound units. On a busy machine any rank may be slow once."""
        found = self.culprits(units, whole)
        blamed = {id(unit) for culprit in found for unit in culprit}
        sound = [unit for unit in units if id(unit) not in blamed]
        return [culprit for culprit in found if self._again(culprit, sound)]

    def _again(self, culprit: list[Unit], sound: Sequence[Unit]) -> bool:
        missing = 2 - len(culprit)
        if len(sound) < missing + 2:
            return True
        return self._bad(self._compare([*culprit, *sound[:missing]], sound[missing : missing + 2]))[0]

    def culprits(self, units: Sequence[Unit], whole: Shown, good: Sequence[Unit] = ()) -> list[list[Unit]]:
        """Each culprit as a list of units: one for a bad unit, two for a bad pair. `good`: units that are known to be sound."""
        if len(units) == 1:
            return [[units[0]]]
        if len(units) == 2:
            return self._split_pair(units[0], units[1], good)
        first, second = units[: len(units) // 2], units[len(units) // 2 :]
        shown = self._compare(first, second)
        bad = self._bad(shown)
        if bad == (True, False):
            return self.culprits(first, shown[0], [*good, *second])
        if bad == (False, True):
            return self.culprits(second, shown[1], [*good, *first])
        if bad == (True, True):
            return self.culprits(first, shown[0], good) + self.culprits(second, shown[1], good)
        usual = max(one.seconds for one in shown)
        worse = whole.wrong if self.symptom == "wrong" else _slower(whole.seconds, usual)
        return self._find_pair(first, second, usual) if worse else []

    def _split_pair(self, one: Unit, other: Unit, good: Sequence[Unit]) -> list[list[Unit]]:
        """Measure each of two units with a sound one. If neither shows the symptom, the culprit is the pair."""
        if not good:
            shown = self._compare([one], [other])
        elif len(good) == 1:
            shown = self._compare([one, good[0]]) + self._compare([other, good[0]])
        else:
            shown = self._compare([one, good[0]], [other, good[1]])
        bad = self._bad(shown)
        # What two units take together has no measure of its own: without a sound unit, slow cannot be said of a pair.
        pair = [] if self.symptom == "slow" and not good else [[one, other]]
        return [[unit] for unit, is_bad in zip((one, other), bad) if is_bad] or pair

    def _find_pair(self, first: Sequence[Unit], second: Sequence[Unit], usual: float) -> list[list[Unit]]:
        """The pair with one unit of each side, where each side alone is sound and takes `usual` seconds."""
        while len(first) > 1:
            half = first[: len(first) // 2]
            first = half if self._shows([*half, *second], usual) else first[len(first) // 2 :]
        while len(second) > 1:
            half = second[: len(second) // 2]
            second = half if self._shows([*first, *half], usual) else second[len(second) // 2 :]
        return [[first[0], second[0]]]

    def _shows(self, units: Sequence[Unit], usual: float) -> bool:
        (shown,) = self._compare(units)
        return shown.wrong if self.symptom == "wrong" else _slower(shown.seconds, usual)

    def _compare(self, *groups: Sequence[Unit]) -> list[Shown]:
        return self.measure([[rank for unit in group for rank in unit] for group in groups])

    def _bad(self, shown: Sequence[Shown]) -> tuple[bool, bool]:
        one, other = shown
        if self.symptom == "wrong":
            return one.wrong, other.wrong
        return _slower(one.seconds, other.seconds), _slower(other.seconds, one.seconds)


def _slower(one: float, other: float) -> bool:
    return one > SLOW_RATIO * other and one > other + SLOW_SECONDS
