"""Figures that the host's processor decides: launches, copies from pageable memory, a DataLoader in the training process.

Other programs on the host, also those of other virtual machines, slow these figures down for seconds at a time and never speed them up.
So each is measured in short rounds, spread over the whole run: a round keeps its fastest sample, and the figure is the third-fastest
round. On an H200 it repeats within a few percent where the median of two seconds did not repeat within 20 (docs/bench.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from ..smoke.on_torch import TorchContext
from . import loader
from .timing import EXPECTED, QUICK, WHOLE, figure, ratio, significant

SAMPLES = 5
"""Samples of a part in one round."""
SAMPLE_SECONDS = 0.001
"""Seconds of one sample: short enough to fall between two disturbances."""
PART_SECONDS = 0.02
"""Seconds after which a part of a round ends, whatever it has."""
ROUNDS = {QUICK: 32, WHOLE: 100}
"""Rounds of a run: some after each other figure, and the rest at the end."""
AT_ONCE = {QUICK: 1, WHOLE: 4}
"""Rounds after one other figure."""
PIECE, PIECES = 32 << 20, 8
"""Bytes of a copy, and so many of them: more than a processor's cache."""
MICRO = 1e6


class Part(NamedTuple):
    """One figure of a round. `sample` returns one value."""

    name: str
    unit: str
    sample: Callable[[], float]
    detail: dict[str, Any]

    @property
    def fastest(self) -> Callable[..., float]:
        """min for times, max for rates."""
        return min if self.unit == "us" else max


class Rounds:
    """The parts, and of each part the fastest sample of every round so far."""

    def __init__(self, context: TorchContext) -> None:
        self.missing: dict[str, str] = {}
        self.parts = list(parts(context))
        self.best: dict[str, list[float]] = {part.name: [] for part in self.parts}

    def one(self) -> None:
        """One round. A part that fails is dropped."""
        for part in list(self.parts):
            try:
                self.best[part.name].append(part.fastest(sampled(part)))
            except EXPECTED as error:
                self.missing[part.name] = f"{type(error).__name__}: {error}"[:300]
                self.parts.remove(part)

    @property
    def count(self) -> int:
        """Rounds so far."""
        return max(map(len, self.best.values()), default=0)


def sampled(part: Part) -> list[float]:
    """The samples of one part in one round; at least one."""
    found: list[float] = []
    until = time.perf_counter() + PART_SECONDS
    while not found or (len(found) < SAMPLES and time.perf_counter() < until):
        found.append(part.sample())
    return found


def begin(context: TorchContext) -> None:
    """Have rounds run after each figure that follows."""

    def some() -> None:
        for _ in range(AT_ONCE[context.level]):
            rounds_of(context).one()

    context.keep("between", list).append(some)


def rounds_of(context: TorchContext) -> Rounds:
    """The rounds of this process."""
    found: Rounds = context.keep("rounds", partial(Rounds, context))
    return found


def host(context: TorchContext) -> dict[str, Any]:
    """`launch-latency`, `launch-wait`, `host-to-device-pageable`, `device-to-host-pageable`, `loader`."""
    rounds = rounds_of(context)
    context.doing("rounds that are missing")
    while rounds.parts and rounds.count < ROUNDS[context.level]:
        rounds.one()
    figures = [made(part, rounds.best[part.name]) for part in rounds.parts if part.name != "loader"]
    alone = [made(part, rounds.best[part.name]) for part in rounds.parts if part.name == "loader"]
    best, used = loader.faster(context, alone), context.keep("consumption", lambda: None)
    facts = {
        "speed.pinned-gain": ratio([*figures, *context.keep("pinned", list)], "host-to-device-pinned", "host-to-device-pageable"),
        "speed.loader-share": significant(best["value"] / used) if used else None,
    }
    return {"figures": [*figures, best], "facts": {k: v for k, v in facts.items() if v is not None}, "missing": rounds.missing}


def made(part: Part, best: list[float]) -> dict[str, Any]:
    """The figure of a part."""
    better = "lower" if part.unit == "us" else "higher"
    return figure(part.name, part.unit, best, dict(part.detail, rounds=len(best)), {}, better, "fastest")


def parts(context: TorchContext) -> Iterator[Part]:
    """What a round measures."""
    small = context.torch.ones(16, device=context.device)
    launch = partial(small.add_, 1.0)
    yield Part("launch-latency", "us", clocked(context, launch, micro), {})
    yield Part("launch-wait", "us", clocked(context, partial(waited_for, context, launch), micro), {})
    if context.on_gpu:
        yield from pageable(context)
    rows = loader.dataset(context)
    yield Part("loader", "tokens/s", loader.alone(context, rows, SAMPLE_SECONDS), {"workers": 0, **loader.ABOUT})


def waited_for(context: TorchContext, launch: Callable[[], Any]) -> None:
    """One launch, and the end of its kernel."""
    launch()
    context.sync()


def micro(seconds: float) -> float:
    """Microseconds."""
    return seconds * MICRO


def gigabytes(seconds: float) -> float:
    """GB/s of a copy of a piece."""
    return PIECE / 1e9 / seconds


def clocked(context: TorchContext, action: Callable[[], Any], value: Callable[[float], float]) -> Callable[[], float]:
    """A sample: `value` of the seconds of one call, among so many calls as fill a sample."""
    for _ in range(3):
        action()
    repeat = max(1, min(1000, round(SAMPLE_SECONDS / max(context.clock(action, 3), 1e-7))))
    return lambda: value(context.clock(action, repeat))


def pageable(context: TorchContext) -> Iterator[Part]:
    """Copies to the device and back, each sample of the next piece of the host's memory: the copies are to be as fast as its pages on the
    whole, and no cache may hold them.
    """
    torch = context.torch
    there = torch.empty(PIECE, dtype=torch.uint8, device=context.device)
    pieces = cycle(torch.zeros(PIECES * PIECE, dtype=torch.uint8).split(PIECE))
    about = {"bytes": PIECE, "pinned": False}
    yield Part("host-to-device-pageable", "GB/s", clocked(context, lambda: there.copy_(next(pieces)), gigabytes), about)
    yield Part("device-to-host-pageable", "GB/s", clocked(context, lambda: next(pieces).copy_(there), gigabytes), about)
