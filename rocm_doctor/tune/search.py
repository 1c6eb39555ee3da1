"""The search: each factor alone, then what promises to be the fastest after the runs so far (guess.py), then long runs of the fastest.

Short runs of a few steps decide what is dropped, long ones what wins. A configuration that is not predicted to fit is never measured.

Other programs on the host slow a run down, by a tenth and more, and never speed it up. So what is close is measured twice, and the faster run
counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Set

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Job
from rocm_doctor.tune.guess import Guesses
from rocm_doctor.tune.space import FACTORS, Choice, Space, fits

SHORT, LONG = (1, 2), (1, 4)
"""Warm-up steps and measured steps of a short and a long run."""
FINALISTS = 3
"""So many configurations get a long run."""
NEAR = 0.06
"""Runs closer than this may differ by chance."""
PART = 0.15
"""So many runs, as a part of all configurations that fit, go to what promises to be the fastest."""
HOPE, GAIN = 1.5, 0.01
"""A configuration promises what is expected of it and so many standard deviations more. If that is less than this part above the fastest, it is
not run.
"""


class Measured(msgspec.Struct, frozen=True):
    """What came of one run; `tokens_s` is 0 where there was an error."""

    choice: Choice
    steps: int
    tokens_s: float = 0.0
    samples: tuple[float, ...] = ()
    peak_allocated: int = 0
    peak_reserved: int = 0
    joules_per_token: float | None = None
    wall_s: float = 0.0
    error: str = ""


class Effect(msgspec.Struct, frozen=True):
    """How far one value of a factor is from the base's, everything else the same."""

    factor: str
    value: str
    against: str
    change: float
    """0.2: a fifth faster than the base."""


class Tuned(msgspec.Struct, frozen=True):
    """The outcome: the best run, all runs in their order, what each factor does, and what was not tried because it would not fit."""

    best: Measured
    runs: tuple[Measured, ...]
    effects: tuple[Effect, ...]
    unfit: tuple[Choice, ...]


class NothingFits(ValueError):
    """No configuration is predicted to fit."""


Ask = Callable[[Choice, int, int], Measured]
"""Measure a configuration with so many warm-up and measured steps."""


class Runs:
    """All runs so far, in their order."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.all: list[Measured] = []

    def measured(self, choice: Choice, times: int = 1, length: tuple[int, int] = SHORT) -> Measured:
        """The fastest run of a configuration, after so many runs."""
        while sum(one.choice == choice for one in self.all) < times:
            self.all.append(self.ask(choice, *length))
        return self.fastest(choice)

    def fastest(self, choice: Choice) -> Measured:
        """The fastest run of a configuration."""
        return max((one for one in self.all if one.choice == choice), key=lambda one: one.tokens_s)

    def ranked(self) -> list[Measured]:
        """The fastest run of each configuration that gave a figure, fastest first. Raises RuntimeError if none did."""
        found = [self.fastest(choice) for choice in dict.fromkeys(one.choice for one in self.all if one.tokens_s)]
        if not found:
            raise RuntimeError(next((one.error for one in self.all if one.error), "no run gave a figure"))
        return sorted(found, key=lambda one: -one.tokens_s)


def tune(space: Space, base: Job, card: Card, ask: Ask) -> Tuned:
    """Raises NothingFits, or RuntimeError if no run gave a figure."""
    runs, able = Runs(ask), {one for one in space.every() if fits(one, base, card)}
    start = _start(space, able)
    ask(start, *SHORT)  # not counted: the first run of a process also pays for the libraries' start
    runs.measured(start)
    effects = [effect for name in FACTORS for effect in _alone(space, name, start, able, runs)]
    _promising(able, runs)
    best = _finals(runs)
    return Tuned(best, tuple(runs.all), tuple(effects), tuple(one for one in space.every() if one not in able))


def _start(space: Space, able: Set[Choice]) -> Choice:
    """The first values of all factors at the largest micro-batch that fits; with what buys room if nothing fits without."""
    first = space.of(1, **{name: getattr(space, name)[0] for name in FACTORS})
    found = (space.at(batch, roomy) for roomy in _rooms(first, space) for batch in reversed(space.batches))
    start = next((one for one in found if one in able), None)
    if start is None:
        raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")
    return start


def _rooms(settings: Choice, space: Space) -> list[Choice]:
    """The settings, and the same with what costs time and saves memory: a fused loss, checkpointing, both."""
    made = [
        msgspec.structs.replace(settings, fused_loss=fused, checkpointing=checkpointing)
        for checkpointing in dict.fromkeys((settings.checkpointing, True))
        for fused in dict.fromkeys((settings.fused_loss, space.fused_loss[-1]))
    ]
    return list(dict.fromkeys(made))


def _alone(space: Space, name: str, start: Choice, able: Set[Choice], runs: Runs) -> Iterator[Effect]:
    """The other values of one factor against the base, at the largest micro-batch at which both fit."""
    for value in getattr(space, name):
        pair = next((pair for pair in _pairs(space, start, name, value) if able >= set(pair)), None)
        if value == getattr(start, name) or pair is None:
            continue
        against, found = map(runs.measured, pair)
        if abs(found.tokens_s - against.tokens_s) < NEAR * against.tokens_s:
            against, found = (runs.measured(one, 2) for one in pair)
        if against.tokens_s and found.tokens_s:
            yield Effect(name, str(value), str(getattr(pair[0], name)), round(found.tokens_s / against.tokens_s - 1, 4))


def _pairs(space: Space, start: Choice, name: str, value: object) -> Iterator[tuple[Choice, Choice]]:
    """A configuration, and the same with the value. Large micro-batches first, since there the GPU decides; of them those that need the most
    room last.
    """
    for batch in reversed(space.batches):
        for roomy in _rooms(start, space):
            plain = space.at(batch, roomy)
            if batch <= start.batch and getattr(plain, name) != value:
                yield plain, msgspec.structs.replace(plain, **{name: value})


def _promising(able: Set[Choice], runs: Runs) -> None:
    """Run what promises to be the fastest after all runs so far, until nothing does."""
    for _ in range(math.ceil(PART * len(able))):
        speeds = {one.choice: one.tokens_s for one in runs.ranked()}
        guesses, left = Guesses(speeds), able - {one.choice for one in runs.all}
        promise, best = max(((guesses.best(one, HOPE), one) for one in left), default=(0.0, None))
        if best is None or promise < (1 + GAIN) * max(speeds.values()):
            return
        runs.measured(best)


def _finals(runs: Runs) -> Measured:
    """The fastest of the finalists by long runs; where that is close, by two of each."""
    long = Runs(runs.ask)
    for choice in _near(runs.ranked()[:FINALISTS]):
        long.measured(choice, 1, LONG)
    close = _near(long.ranked())
    for choice in close if len(close) > 1 else ():
        long.measured(choice, 2, LONG)
    runs.all += long.all
    return long.ranked()[0]


def _near(ranked: list[Measured]) -> list[Choice]:
    """The configurations that are as fast as the first, or may be."""
    return [one.choice for one in ranked if one.tokens_s > (1 - NEAR) * ranked[0].tokens_s]
