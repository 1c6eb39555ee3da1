"""The search: each factor alone at one micro-batch, then the micro-batches with the better values, halved until the longest runs.

Short runs of a few steps decide what is dropped, long ones what wins. A configuration that is not predicted to fit is never measured.

Other programs on the host slow a run down, by a tenth and more, and never speed it up. So what is close is measured twice, and the faster run
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Job
from rocm_doctor.tune.space import FACTORS, Choice, Space, fits, predicted

SHORT, LONG = (1, 2), (1, 4)
"""Warm-up steps and measured steps of a short and a long run."""
FINALISTS = 3
"""So many configurations get a long run."""
NEAR = 0.06
"""Runs closer than this may differ by chance."""
CLOSE = 0.03
"""Two values of a factor closer than this are both kept for the next round, for one factor."""


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
    more_memory: bool = False
    """It is predicted to take more memory: a small gain is not worth a smaller micro-batch."""


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
    runs = Runs(ask)
    start, unfit = _start(space, base, card)
    ask(start, *SHORT)  # not counted: the first run of a process also pays for the libraries' start
    first = runs.measured(start)
    effects = [effect for name in FACTORS for effect in _alone(space, name, first, base, card, runs, unfit)]
    for settings in _winners(space, start, effects):
        _ladder(space, settings, base, card, runs, unfit)
    best = _finals(runs)
    return Tuned(best, tuple(runs.all), tuple(effects), tuple(dict.fromkeys(unfit)))


def _start(space: Space, base: Job, card: Card) -> tuple[Choice, list[Choice]]:
    """The first values of all factors at the largest micro-batch that fits; with what buys room if nothing fits without."""
    unfit: list[Choice] = []
    first = space.of(1, **{name: getattr(space, name)[0] for name in FACTORS})
    for roomy in _rooms(first, space):
        for batch in reversed(space.batches):
            choice = space.at(batch, roomy)
            if fits(choice, base, card):
                return choice, unfit
            unfit.append(choice)
    raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")


def _rooms(settings: Choice, space: Space) -> list[Choice]:
    """The settings, and the same with what costs time and saves memory: a fused loss, checkpointing, both."""
    made = [
        msgspec.structs.replace(settings, fused_loss=fused, checkpointing=checkpointing)
        for checkpointing in dict.fromkeys((settings.checkpointing, True))
        for fused in dict.fromkeys((settings.fused_loss, space.fused_loss[-1]))
    ]
    return list(dict.fromkeys(made))


def _alone(space: Space, name: str, first: Measured, base: Job, card: Card, runs: Runs, unfit: list[Choice]) -> Iterable[Effect]:
    """The other values of one factor against the base, at the largest micro-batch at which both fit."""
    for value in getattr(space, name):
        pairs = _pairs(space, first.choice, name, value)
        pair = next((one for one in pairs if _able(one[1], base, card, unfit) and fits(one[0], base, card)), None)
        if value == getattr(first.choice, name) or pair is None:
            continue
        against, found = map(runs.measured, pair)
        if abs(found.tokens_s - against.tokens_s) < NEAR * against.tokens_s:
            against, found = (runs.measured(one, 2) for one in pair)
        if against.tokens_s and found.tokens_s:
            change = found.tokens_s / against.tokens_s - 1
            more = predicted(pair[1], base, card) > predicted(pair[0], base, card)
            yield Effect(name, str(value), str(getattr(pair[0], name)), round(change, 4), more)


def _pairs(space: Space, first: Choice, name: str, value: object) -> Iterator[tuple[Choice, Choice]]:
    """A configuration, and the same with the value; those that need the most room last."""
    for roomy in _rooms(first, space):
        for batch in reversed(space.batches):
            plain = space.at(batch, roomy)
            if batch <= first.batch and getattr(plain, name) != value:
                yield plain, msgspec.structs.replace(plain, **{name: value})


def _winners(space: Space, start: Choice, effects: Sequence[Effect]) -> list[Choice]:
    """The base with the better value of each factor; the same without what takes more memory, which may leave room for a larger
    micro-batch; and the same with the other value of the closest call.
    """
    values = {one: next(v for v in getattr(space, one.factor) if str(v) == one.value) for one in effects}
    ranked = sorted(effects, key=lambda one: one.change)
    better = _with(start, {one.factor: values[one] for one in ranked if one.change > 0})
    light = _with(start, {one.factor: values[one] for one in ranked if one.change > 0 and not one.more_memory})
    close = min((one for one in effects if abs(one.change) < CLOSE), key=lambda one: abs(one.change), default=None)
    other = (
        _with(better, {close.factor: getattr(start, close.factor) if close.change > 0 else values[close]}) if close else better
    )
    return list(dict.fromkeys((better, light, other)))


def _with(choice: Choice, factors: dict[str, object]) -> Choice:
    return msgspec.structs.replace(choice, **factors)


def _ladder(space: Space, settings: Choice, base: Job, card: Card, runs: Runs, unfit: list[Choice]) -> None:
    """The micro-batches from the largest that fits downwards, until they are slower than the fastest so far twice; what buys room only
    for larger ones.
    """
    held = worse = 0
    for roomy in _rooms(settings, space):
        able = [space.at(batch, roomy) for batch in reversed(space.batches) if batch > held]
        able = [choice for choice in able if _able(choice, base, card, unfit)]
        for choice in able:
            best = runs.ranked()[0].tokens_s if any(one.tokens_s for one in runs.all) else 0.0
            worse = worse + 1 if runs.measured(choice).tokens_s < best else 0
            if worse == 2:
                break
        held = max([held, *(choice.batch for choice in able)])
        worse = min(worse, 1)


def _able(choice: Choice, base: Job, card: Card, unfit: list[Choice]) -> bool:
    """Whether a configuration is predicted to fit; if not, it is noted."""
    able = fits(choice, base, card)
    unfit += [] if able else [choice]
    return able


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
