"""The search: each factor alone at one micro-batch, then the micro-batches with the better values, halved until the longest runs.

Short runs of a few steps decide what is dropped, long ones what wins. A configuration that is not predicted to fit is never measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Job
from rocm_doctor.tune.space import FACTORS, Choice, Space, fits

SHORT, LONG = (1, 2), (1, 4)
"""Warm-up steps and measured steps of a short and a long run."""
FINALISTS, WITHIN = 3, 0.9
"""At most so many configurations get a long run, and only those that are not slower than this part of the fastest."""
CLOSE = 0.03
"""Two values of a factor closer than this are both kept for the next round, once."""


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


def tune(space: Space, base: Job, card: Card, ask: Ask) -> Tuned:
    """Raises NothingFits, or RuntimeError if no run gave a figure."""
    runs: list[Measured] = []

    def short(choice: Choice) -> Measured:
        known = next((one for one in runs if one.choice == choice), None)
        if known is None:
            known = ask(choice, *SHORT)
            runs.append(known)
        return known

    start, unfit = _start(space, base, card)
    ask(start, *SHORT)  # not counted: the first run of a process also pays for the libraries' start
    first = short(start)
    effects = [effect for name in FACTORS for effect in _alone(space, name, first, base, card, short, unfit)]
    better, second = _winners(space, start, effects)
    for settings in (better, *second):
        _ladder(space, settings, base, card, short, unfit)
    best = _finals(runs, ask)
    return Tuned(best, tuple(runs), tuple(effects), tuple(dict.fromkeys(unfit)))


def _start(space: Space, base: Job, card: Card) -> tuple[Choice, list[Choice]]:
    """The first values of all factors at the largest micro-batch that fits; with checkpointing if nothing fits without."""
    unfit: list[Choice] = []
    first = {name: getattr(space, name)[0] for name in FACTORS}
    for checkpointing in space.checkpointing:
        for batch in reversed(space.batches):
            choice = space.of(batch, **{**first, "checkpointing": checkpointing})
            if fits(choice, base, card):
                return choice, unfit
            unfit.append(choice)
    raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")


def _alone(
    space: Space, name: str, first: Measured, base: Job, card: Card, short: Callable[[Choice], Measured], unfit: list[Choice]
) -> Iterable[Effect]:
    """The other values of one factor against the base, at the largest micro-batch at which both fit."""
    for value in getattr(space, name):
        if value == getattr(first.choice, name):
            continue
        for batch in [b for b in reversed(space.batches) if b <= first.choice.batch]:
            plain = msgspec.structs.replace(first.choice, batch=batch, accumulation=space.of(batch).accumulation)
            other = msgspec.structs.replace(plain, **{name: value})
            if not fits(other, base, card):
                unfit.append(other)
                continue
            against, found = short(plain), short(other)
            if against.tokens_s and found.tokens_s:
                change = found.tokens_s / against.tokens_s - 1
                yield Effect(name, str(value), str(getattr(plain, name)), round(change, 4))
            break


def _winners(space: Space, start: Choice, effects: Iterable[Effect]) -> tuple[Choice, list[Choice]]:
    """The base with the better value of each factor; and for the closest call, the same with the other value."""
    changed: dict[str, object] = {}
    close: list[tuple[float, str, object]] = []
    for effect in sorted(effects, key=lambda one: one.change):
        value = next(v for v in getattr(space, effect.factor) if str(v) == effect.value)
        if effect.change > 0:
            changed[effect.factor] = value
        if abs(effect.change) < CLOSE:
            close.append((abs(effect.change), effect.factor, value))
    better = msgspec.structs.replace(start, **changed)
    second = []
    for _, factor, value in sorted(close, key=lambda one: one[:2])[:1]:
        other = getattr(start, factor) if factor in changed else value
        second.append(msgspec.structs.replace(better, **{factor: other}))
    return better, second


def _ladder(
    space: Space, settings: Choice, base: Job, card: Card, short: Callable[[Choice], Measured], unfit: list[Choice]
) -> None:
    """The micro-batches from the largest that fits downwards, until they get slower twice."""
    best, worse = 0.0, 0
    for checkpointing in (
        dict.fromkeys((settings.checkpointing, True)) if settings.batch < space.sequences else (settings.checkpointing,)
    ):
        for batch in reversed(space.batches):
            choice = msgspec.structs.replace(
                settings, batch=batch, accumulation=space.of(batch).accumulation, checkpointing=checkpointing
            )
            if not fits(choice, base, card):
                unfit.append(choice)
                continue
            if checkpointing is not settings.checkpointing and batch <= settings.batch:
                break  # checkpointing costs time and buys room: only a larger micro-batch can pay for it
            speed = short(choice).tokens_s
            worse = worse + 1 if speed < best else 0
            best = max(best, speed)
            if worse == 2:
                break


def _finals(runs: list[Measured], ask: Ask) -> Measured:
    """The fastest of the finalists in long runs."""
    good = sorted((one for one in runs if one.tokens_s), key=lambda one: -one.tokens_s)
    if not good:
        raise RuntimeError(next((one.error for one in runs if one.error), "no run gave a figure"))
    finals = [ask(one.choice, *LONG) for one in good[:FINALISTS] if one.tokens_s >= WITHIN * good[0].tokens_s]
    runs.extend(finals)
    return max(finals, key=lambda one: one.tokens_s)
