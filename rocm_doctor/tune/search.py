"""The search: the person's own run first, then a step of every shape (micro-batch, checkpointing, fused loss) of the own numerics that is not
worse by construction; the fastest shapes in other numerics; the rest of the factors on the best ones alone; long runs of the leaders.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Dtype, Job
from rocm_doctor.tune.space import Choice, choice_of, is_predicted_to_fit, job_of, list_shapes, numerics_of

SHORT, LONG = 1, 3
"""Measured steps of a first run, and at least of one of the last."""
FINAL_SECONDS = 4.0
"""How long a run of the last round lasts at least: there are two of each, in turn, and the means are the figures."""
MOST = 12
"""Shapes of the own numerics that are tried, the largest micro-batches first."""
FOR_FINALS = 0.4
"""Part of the time that is kept for the long runs."""
COMPILE_NEEDS = 180.0
"""Seconds that must be left for torch.compile to be tried: it takes a minute for a model of 24 layers."""


class Measured(msgspec.Struct, frozen=True):
    """What came of one run; `tokens_s` is 0 where there was an error. `compile_s`: seconds of the first step with torch.compile."""

    choice: Choice
    steps: int
    tokens_s: float = 0.0
    samples: tuple[float, ...] = ()
    peak_allocated: int = 0
    peak_reserved: int = 0
    joules_per_token: float | None = None
    wall_s: float = 0.0
    compile_s: float = 0.0
    error: str = ""


class Effect(msgspec.Struct, frozen=True):
    """What one change of the answer brings: its speed against the answer without it (0.2: a fifth faster)."""

    field: str
    value: str
    against: str
    change: float


class Tuned(msgspec.Struct, frozen=True):
    """The outcome. `baseline` is the person's own run; `best` the fastest with his numerics, `faster` that of other numerics where it is
    faster; `complete` is False if the search was ended."""

    baseline: Measured
    best: Measured
    faster: Measured | None
    effects: tuple[Effect, ...]
    runs: tuple[Measured, ...]
    complete: bool = True


class NothingFits(ValueError):
    """No configuration is predicted to fit."""


Ask = Callable[[Choice, int], Measured]
"""Measure a configuration with so many steps."""


class Search:
    """The runs so far, and the time until they must end."""

    def __init__(self, base: Job, card: Card, half: Dtype, ask: Ask, seconds: float) -> None:
        self.base, self.card, self.half, self.ask = base, card, half, ask
        self.until = time.monotonic() + seconds
        self.reserved = FOR_FINALS * seconds
        self.runs: list[Measured] = []
        self.own = choice_of(base)
        self.effects: list[Effect] = []

    def run(self, choice: Choice, steps: int = SHORT) -> Measured:
        """Measure it, and keep the result."""
        self.runs.append(self.ask(choice, steps))
        return self.runs[-1]

    def rank(self) -> list[Measured]:
        """The figure of each configuration, fastest first; of the long runs alone once there are any."""
        able = [run for run in self.runs if run.tokens_s]
        by_choice: dict[Choice, list[Measured]] = {}
        for run in [run for run in able if run.steps >= LONG] or able:
            by_choice.setdefault(run.choice, []).append(run)
        return sorted(map(join, by_choice.values()), key=lambda one: -one.tokens_s)

    def is_late(self, needed: float = 0.0) -> bool:
        """True if the time is over, or less is left than needed, beside what is kept for the long runs."""
        return time.monotonic() + needed + self.reserved > self.until

    def search(self) -> None:
        """Run everything. Raises NothingFits, or RuntimeError if no run gave a figure."""
        able = list(list_shapes(self.base, self.card, {}))
        if not able:
            raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")
        self.ask(able[-1], SHORT)  # not counted: the first run of a process also pays for the libraries' start
        self.run(self.own, 2 * SHORT)
        for one in able[:MOST]:
            self._try(one)
        shaped = [one.choice for one in self.rank()[:2]]
        for numerics in numerics_of(self.base, self.half):
            for one in self._reshape(shaped, numerics):
                self._try(one)
        for best in dict.fromkeys(one.choice for one in self.leaders()):
            for one in _alternatives(best):
                self._try(one, 2 * SHORT)
        if not self.is_late(COMPILE_NEEDS):
            self.run(msgspec.structs.replace(self.leaders()[0].choice, compile=True), 2 * SHORT)
        self._finish()
        self._explain()

    def _try(self, choice: Choice, steps: int = SHORT) -> None:
        """Measure it, where the time is left and it is predicted to fit."""
        if not self.is_late() and is_predicted_to_fit(job_of(choice, self.base), self.card):
            self.run(choice, steps)

    def _reshape(self, shaped: Sequence[Choice], numerics: Mapping[str, Any]) -> Iterator[Choice]:
        """Configurations of other numerics: the micro-batches that were fastest, the largest, and the largest without checkpointing,
        which other numerics may have the memory for."""
        able = [one for one in list_shapes(self.base, self.card, numerics) if one.numerics != self.own.numerics]
        whole = next((one.batch for one in able if not one.checkpointing), 0)
        return (one for one in able if one.batch in {able[0].batch, whole, *(s.batch for s in shaped)})

    def leaders(self) -> list[Measured]:
        """The best of the own numerics, and of all. Raises RuntimeError if no run gave a figure."""
        ranked = self.rank()
        if not ranked:
            raise RuntimeError(next((one.error for one in self.runs if one.error), "no run gave a figure"))
        own = next((one for one in ranked if one.choice.numerics == self.own.numerics), None)
        return [own or ranked[0], ranked[0]]

    def _finish(self) -> None:
        """Long runs of the own run, the leaders and what came close, twice and in turn: the host's other work comes and goes."""
        ranked = self.rank()
        own = [one for one in ranked if one.choice.numerics == self.own.numerics]
        known = {one.choice: one.tokens_s for one in ranked}
        self.reserved = 0.0
        for one in list(dict.fromkeys([self.own, *(run.choice for run in (*own[:2], *ranked[:2]))])) * 2:
            tokens = self.base.tokens * self.base.grad_accum
            self.run(one, max(LONG, math.ceil(FINAL_SECONDS * known.get(one, 0.0) / tokens)))

    def _explain(self) -> None:
        """What each change of the answer brings: the answer without it."""
        best = self.leaders()[0]
        for name in Choice.__struct_fields__:
            old, new = getattr(self.own, name), getattr(best.choice, name)
            if old == new or name == "grad_accum" or self.is_late():
                continue
            parts = {"batch": self.own.batch, "grad_accum": self.own.grad_accum} if name == "batch" else {name: old}
            without = msgspec.structs.replace(best.choice, **parts)
            if is_predicted_to_fit(job_of(without, self.base), self.card):
                found = self.run(without, 2 * SHORT)
                if found.tokens_s:
                    self.effects.append(Effect(name, str(new), str(old), round(best.tokens_s / found.tokens_s - 1, 3)))

    def outcome(self, complete: bool) -> Tuned:
        """The best so far. Raises RuntimeError if no run gave a figure."""
        best, fastest = self.leaders()
        known = [one for one in (*self.rank(), *self.runs) if one.choice == self.own]
        baseline = known[0] if known else Measured(self.own, 0, error="not run")
        faster = fastest if fastest.choice.numerics != self.own.numerics and fastest.tokens_s > 1.02 * best.tokens_s else None
        return Tuned(baseline, best, faster, tuple(self.effects), tuple(self.runs), complete)


def join(runs: Sequence[Measured]) -> Measured:
    """Several runs of one configuration as one: tokens of all of them over their time."""
    samples = tuple(one for run in runs for one in run.samples) or (runs[0].tokens_s,)
    return msgspec.structs.replace(runs[-1], samples=samples, tokens_s=len(samples) / sum(1 / one for one in samples))


def _alternatives(choice: Choice) -> Iterator[Choice]:
    """Single changes worth a run: the other attention, the optimizer's fused kernel, the fused loss the other way round."""
    if optimizer := {"adamw": "adamw_fused", "adamw_fused": "adamw"}.get(choice.optimizer):
        yield msgspec.structs.replace(choice, optimizer=optimizer)
    yield msgspec.structs.replace(choice, fused_loss=not choice.fused_loss)
    yield msgspec.structs.replace(choice, implementation="sdpa" if choice.implementation == "eager" else "eager")
