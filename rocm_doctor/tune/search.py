"""The search: the person's own run, then a step of every shape (micro-batch, checkpointing, fused loss) that is predicted to fit, then single
changes of the best so far, those that change the numbers among them. Long runs of the leaders are the figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Dtype, Job
from rocm_doctor.tune.space import (
    TuneChoice,
    choice_job,
    is_predicted_to_fit,
    job_choice,
    list_alternatives,
    list_numerics,
    list_shapes,
)

SHORT, LONG = 1, 3
"""Measured steps of a first run, and at least of one of the last."""
FINAL_SECONDS = 4.0
"""How long a run of the last round lasts at least: there are two of each, in turn, and the means are the figures."""
MOST = 12
"""Shapes that are tried, the largest micro-batches first."""
FOR_FINALS = 0.4
"""Part of the time that is kept for the long runs."""
NO_TIME = "not measured: the time was over (--minutes gives more)"
NO_TIME_FOR_LONG = "no long run: the time was over (--minutes gives more)"


class Measured(msgspec.Struct, frozen=True):
    """One run. `tokens_s` is 0 where there was an error; `samples` are tokens per second of each step; peaks are bytes of torch's allocator;
    `steps` is 0 where the time was over before the run."""

    choice: TuneChoice
    steps: int
    tokens_s: float = 0.0
    samples: tuple[float, ...] = ()
    peak_allocated: int = 0
    peak_reserved: int = 0
    error: str = ""


class Tuned(msgspec.Struct, frozen=True):
    """The outcome. `baseline` is the person's own run; `best` the fastest with its numerics, `faster` that of other numerics where it is
    faster; `complete` is False if the search was ended."""

    baseline: Measured
    best: Measured
    faster: Measured | None
    runs: tuple[Measured, ...]
    complete: bool = True


class NothingFits(ValueError):
    """No configuration is predicted to fit."""


Ask = Callable[[TuneChoice, int], Measured]
"""Measure a configuration with so many steps."""


class TuneSearch:
    """The runs so far, and the time until they must end. `half`: the 16-bit format of the GPU; `seconds`: how long the search may take."""

    def __init__(self, base: Job, card: Card, half: Dtype, ask: Ask, seconds: float) -> None:
        self.base, self.card, self.half, self.ask = base, card, half, ask
        self.until = time.monotonic() + seconds
        self.reserved = FOR_FINALS * seconds
        self.runs: list[Measured] = []
        self.finalists: list[TuneChoice] = []
        self.own = job_choice(base)

    def run(self, choice: TuneChoice, steps: int = SHORT) -> None:
        """Measure a configuration, and keep the result; where the time is over before its end, keep that it was not measured."""
        result = self.ask(choice, steps) if time.monotonic() < self.until else None
        if result is None or (result.error and time.monotonic() >= self.until):
            result = Measured(choice, 0, error=NO_TIME)
        self.runs.append(result)

    def rank(self) -> list[Measured]:
        """The figure of each configuration, fastest first; of the long runs alone once every finalist had one."""
        able = [run for run in self.runs if run.tokens_s]
        long_runs = [run for run in self.runs if run.steps >= LONG]
        have_long = self.finalists and {run.choice for run in long_runs}.issuperset(self.finalists)
        by_choice: dict[TuneChoice, list[Measured]] = {}
        for run in [run for run in long_runs if have_long and run.tokens_s] or able:
            by_choice.setdefault(run.choice, []).append(run)
        return sorted(map(join, by_choice.values()), key=lambda run: -run.tokens_s)

    def is_late(self) -> bool:
        """True if the time is over, beside what is kept for the long runs."""
        return time.monotonic() + self.reserved > self.until

    def search(self) -> None:
        """Run everything. Raises NothingFits, or RuntimeError if no run gave a figure."""
        shapes = list(list_shapes(self.base, self.card))
        if not shapes:
            raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")
        self.ask(shapes[-1], SHORT)  # not counted: the first run of a process also pays for the libraries' start
        self.run(self.own, 2 * SHORT)
        for shape in shapes[:MOST]:
            self._try(shape)
        for change in (*list_numerics(self.base, self.half), *list_alternatives(self.base)):
            for leader in self.leaders():
                self._try(msgspec.structs.replace(leader.choice, **change), 2 * SHORT)
        self._finish()

    def _try(self, choice: TuneChoice, steps: int = SHORT) -> None:
        """Measure a new configuration that is predicted to fit; where the time is over, keep that it was not measured."""
        tried = any(run.choice == choice for run in self.runs)
        if tried or not is_predicted_to_fit(choice_job(choice, self.base), self.card):
            return
        if self.is_late():
            self.runs.append(Measured(choice, 0, error=NO_TIME))
        else:
            self.run(choice, steps)

    def leaders(self) -> list[Measured]:
        """The best of the own numerics, and of all. Raises RuntimeError if no run gave a figure."""
        ranked = self.rank()
        if not ranked:
            raise RuntimeError(next((run.error for run in self.runs if run.error), "no run gave a figure"))
        return [next((run for run in ranked if run.choice.numerics == self.own.numerics), ranked[0]), ranked[0]]

    def _finish(self) -> None:
        """Long runs of the own run, the leaders and what came close, twice and in turn: the host's other work comes and goes. They end before
        the first that would not end in time."""
        ranked = self.rank()
        own = [run for run in ranked if run.choice.numerics == self.own.numerics]
        speeds = {run.choice: run.tokens_s for run in ranked}
        self.finalists = list(dict.fromkeys([self.own, *(run.choice for run in (*own[:2], *ranked[:2]))]))
        tokens = self.base.tokens * self.base.grad_accum
        for position, choice in enumerate(self.finalists * 2):
            speed = speeds.get(choice, 0.0)
            steps = max(LONG, math.ceil(FINAL_SECONDS * speed / tokens))
            if time.monotonic() + (steps * tokens / speed if speed else 0.0) > self.until:
                self.runs += [Measured(skipped, 0, error=NO_TIME_FOR_LONG) for skipped in self.finalists[position:]]
                return
            self.run(choice, steps)

    def outcome(self, complete: bool) -> Tuned:
        """The best so far. Raises RuntimeError if no run gave a figure."""
        best, fastest = self.leaders()
        baseline = next((run for run in (*self.rank(), *self.runs) if run.choice == self.own), None)
        faster = fastest if fastest.choice.numerics != self.own.numerics and fastest.tokens_s > 1.02 * best.tokens_s else None
        return Tuned(baseline or Measured(self.own, 0, error="not run"), best, faster, tuple(self.runs), complete)


def join(runs: Sequence[Measured]) -> Measured:
    """Several runs of one configuration as one: tokens of all of them over their time."""
    samples = tuple(sample for run in runs for sample in run.samples) or (runs[0].tokens_s,)
    return msgspec.structs.replace(runs[-1], samples=samples, tokens_s=len(samples) / sum(1 / sample for sample in samples))
