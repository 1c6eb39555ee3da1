"""The search: the person's own run first, then successive halving. All configurations of the own numerics that are not worse by construction run
a step, the better half a longer one, and so on; the survivors lend their shape to other numerics; the rest of the factors is tried on the
best one alone.

Other programs on the host slow a run down, by a tenth and more, and never speed it up: the fastest of several runs counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Dtype, Job
from rocm_doctor.tune.space import Choice, choice_of, fits, job_of, numerics_of, shapes

SHORT, LONG = 1, 3
"""Measured steps of a run in the first round, and at least in the last."""
FINAL_SECONDS = 4.0
"""How long a run of the last round lasts at least: there are two of each, in turn, and the means are the figures."""
MOST = 12
"""Configurations of the own numerics in the first round, the largest micro-batches first."""
FINALISTS = 3
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
        self.final: dict[Choice, Measured] = {}
        self.runs: list[Measured] = []
        self.own = choice_of(base)
        self.effects: list[Effect] = []

    def run(self, choice: Choice, steps: int = SHORT) -> Measured:
        """Measure it, and keep the result."""
        self.runs.append(self.ask(choice, steps))
        return self.runs[-1]

    def fastest(self, choice: Choice) -> Measured:
        """What both runs of a finalist gave together, or the fastest run of another configuration among the longest."""
        if choice in self.final:
            return self.final[choice]
        mine = [one for one in self.runs if one.choice == choice]
        longest = max((one.steps for one in mine if one.tokens_s), default=0)
        return max((one for one in mine if one.steps >= longest), key=lambda one: one.tokens_s)

    def ranked(self, choices: Iterable[Choice] | None = None) -> list[Measured]:
        """The fastest run of each configuration that gave a figure, fastest first."""
        wanted = dict.fromkeys(one.choice for one in self.runs) if choices is None else dict.fromkeys(choices)
        known = {one.choice for one in self.runs if one.tokens_s}
        return sorted((self.fastest(one) for one in wanted if one in known), key=lambda one: -one.tokens_s)

    def late(self, needed: float = 0.0) -> bool:
        """True if the time is over, or less is left than needed, beside what is kept for the long runs."""
        return time.monotonic() + needed + self.reserved > self.until

    def halve(self, choices: Sequence[Choice], keep: int) -> list[Choice]:
        """The configurations that survive: all run, the better half runs twice as long, until `keep` are left."""
        steps, left = SHORT, list(dict.fromkeys(choices))
        while left:
            for one in left:
                if not self.late():
                    self.run(one, steps)
            left = [one.choice for one in self.ranked(left)][: max(keep, (len(left) + 1) // 2)]
            if len(left) <= keep or steps >= LONG or self.late():
                return left[:keep]
            steps *= 2
        return []

    def search(self) -> None:
        """Run everything. Raises NothingFits, or RuntimeError if no run gave a figure."""
        able = list(shapes(self.base, self.card, {}))
        if not able:
            raise NothingFits("no configuration is predicted to fit; `rocm-doctor fit` says what would")
        self.ask(able[-1], SHORT)  # not counted: the first run of a process also pays for the libraries' start
        self.run(self.own, 2 * SHORT)
        best = self.halve(able[:MOST], FINALISTS)
        others = [one for numerics in numerics_of(self.base, self.half) for one in self._like(best[:2], numerics)]
        self.halve([one for one in others if one.numerics != self.own.numerics], 2)
        self._polish()
        self._finals()
        self._explain()

    def _like(self, shaped: Sequence[Choice], numerics: Mapping[str, Any]) -> list[Choice]:
        """Configurations of other numerics: the micro-batches that were fastest, the largest, and the largest without checkpointing,
        which other numerics may have the memory for."""
        able = list(shapes(self.base, self.card, numerics))
        whole = next((one.batch for one in able if not one.checkpointing), 0)
        return [one for one in able if one.batch in {able[0].batch, whole, *(s.batch for s in shaped)}]

    def _polish(self) -> None:
        """Factors that hardly depend on the rest, each on the best run of the own numerics and on the best of all."""
        for best in dict.fromkeys(one.choice for one in self._leaders() if one):
            for name, value in _alternatives(best):
                other = msgspec.structs.replace(best, **{name: value})
                if not self.late() and fits(job_of(other, self.base), self.card):
                    self.run(other, 2 * SHORT)
        if not self.late(COMPILE_NEEDS):
            self.run(msgspec.structs.replace(self._leaders()[0].choice, compile=True), LONG)

    def _leaders(self) -> list[Measured]:
        """The best of the own numerics, and of all; of the finalists once they have run."""
        ranked = self.ranked(self.final) if self.final else self.ranked()
        if not ranked:
            raise RuntimeError(next((one.error for one in self.runs if one.error), "no run gave a figure"))
        own = next((one for one in ranked if one.choice.numerics == self.own.numerics), None)
        return [own or ranked[0], ranked[0]]

    def _finals(self) -> None:
        """Long runs of the own run, the leaders and what came close, in turn."""
        ranked = self.ranked()
        own = [one.choice for one in ranked if one.choice.numerics == self.own.numerics]
        finalists = list(dict.fromkeys([self.own, *own[:2], *(one.choice for one in ranked[:2])]))
        self.reserved = 0.0
        runs = [self.run(one, self._steps(one)) for one in finalists * 2]
        self.final = {one: together([run for run in runs if run.choice == one and run.tokens_s]) for one in finalists}
        self.final = {one: run for one, run in self.final.items() if run.tokens_s}

    def _steps(self, choice: Choice) -> int:
        """So many steps that the run is not a glance: the host's other work comes and goes within seconds."""
        known = self.ranked([choice])
        tokens = self.base.tokens * self.base.grad_accum
        return max(LONG, math.ceil(FINAL_SECONDS * known[0].tokens_s / tokens)) if known else LONG

    def _explain(self) -> None:
        """What each change of the answer brings: the answer without it."""
        best = self._leaders()[0]
        for name in Choice.__struct_fields__:
            old, new = getattr(self.own, name), getattr(best.choice, name)
            if old == new or name == "grad_accum" or self.late():
                continue
            parts = {"batch": self.own.batch, "grad_accum": self.own.grad_accum} if name == "batch" else {name: old}
            without = msgspec.structs.replace(best.choice, **parts)
            if fits(job_of(without, self.base), self.card):
                found = self.run(without, 2 * SHORT)
                if found.tokens_s:
                    self.effects.append(Effect(name, str(new), str(old), round(best.tokens_s / found.tokens_s - 1, 3)))

    def outcome(self, complete: bool) -> Tuned:
        """The best so far. Raises RuntimeError if no run gave a figure."""
        best, fastest = self._leaders()
        own = self.ranked([self.own])
        baseline = (
            own[0] if own else next((one for one in self.runs if one.choice == self.own), Measured(self.own, 0, error="not run"))
        )
        faster = fastest if fastest.choice.numerics != self.own.numerics and fastest.tokens_s > 1.02 * best.tokens_s else None
        return Tuned(baseline, best, faster, tuple(self.effects), tuple(self.runs), complete)


def together(runs: Sequence[Measured]) -> Measured:
    """Several runs of one configuration as one: tokens of all of them over their time."""
    samples = tuple(one for run in runs for one in run.samples) or (runs[0].tokens_s,)
    return msgspec.structs.replace(runs[-1], samples=samples, tokens_s=len(samples) / sum(1 / one for one in samples))


def _alternatives(choice: Choice) -> list[tuple[str, object]]:
    """Single changes worth a run: the other attention, the optimizer's fused kernel, the fused loss the other way round."""
    optimizer = {"adamw": "adamw_fused", "adamw_fused": "adamw"}.get(choice.optimizer)
    return [
        *([("optimizer", optimizer)] if optimizer else []),
        ("fused_loss", not choice.fused_loss),
        ("implementation", "sdpa" if choice.implementation == "eager" else "eager"),
    ]
