"""One figure from repeated runs of one action: warm-up until it is stable, then samples, with the sensors read meanwhile."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from ..smoke.compare import Skip
from ..smoke.on_torch import TorchContext
from .sensors import Watch, find_sensors

SAMPLE_SECONDS = 0.03
"""Seconds of one sample: long enough for the clock of the host, and for the launches to overlap."""
BUDGET_SECONDS = 0.5
"""Seconds of all samples of one figure."""
WARM_SECONDS = 1.0
"""Seconds after which warm-up ends, stable or not."""
STABLE = 0.02
"""Warm-up ends when the last three samples differ by no more than this part of their median."""
LEAST, MOST = 5, 200
"""Samples of one figure."""
PAUSE = 0.15
"""Seconds of rest before a burst, in which the power that the driver averages falls."""
BURSTS = 6
BURST_SECONDS = 0.012
BURST_WARM = 3
REPEATS = 10_000
EXPECTED = (RuntimeError, TypeError, AttributeError, NotImplementedError, ValueError, AssertionError, Skip)
"""What is raised for a type or a path that this chip or this torch does not have."""


def rate(
    context: TorchContext, name: str, unit: str, action: Callable[[], Any], work: float, detail: dict[str, Any]
) -> dict[str, Any]:
    """A figure: `work` (in the unit times seconds) of one call of `action`, divided by its seconds."""
    context.report(name)
    repeat = repeats(context, action)
    warm = warm_up(context, action, repeat)
    with Watch(find_sensors(context)) as watch:
        seconds = take_samples(context, action, repeat)
    samples = [work / each for each in seconds]
    return figure(name, unit, samples, dict(detail, repeat=repeat, warm_up=warm), watch.conditions())


def burst(
    context: TorchContext, name: str, unit: str, action: Callable[[], Any], work: float, detail: dict[str, Any], number: int
) -> dict[str, Any]:
    """A figure of `number` short bursts with rests between them: what the chip reaches before it lowers its clocks to stay within
    its power. Published figures are of this kind: ten to a hundred products in a row."""
    context.report(name)
    action()
    repeat = max(1, min(REPEATS, round(BURST_SECONDS / max(context.clock(action), 1e-7))))
    watch, seconds = Watch(find_sensors(context)), []
    for _ in range(number):
        time.sleep(PAUSE)
        for _ in range(BURST_WARM):
            action()
        seconds.append(context.clock(action, repeat))
        watch.look()
    return figure(
        name, unit, [work / each for each in seconds], dict(detail, repeat=repeat, warm_up=BURST_WARM), watch.conditions()
    )


def figure(name: str, unit: str, samples: list[float], detail: dict[str, Any], conditions: dict[str, Any]) -> dict[str, Any]:
    """A figure as figures/types.py has it: the median of samples in its unit."""
    return {
        "name": name,
        "unit": unit,
        "value": round_to_five(statistics.median(samples)),
        "spread": round_to_five(spread(samples)),
        "samples": [round_to_five(sample) for sample in samples],
        "detail": detail,
        "conditions": conditions,
    }


def spread(samples: list[float]) -> float:
    """Half of the range between the quartiles, as a part of the median."""
    if len(samples) < 4:
        return (max(samples) - min(samples)) / 2 / statistics.median(samples)
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / 2 / middle


def round_to_five(value: float) -> float:
    """The value with five significant digits."""
    return float(format(value, ".5g"))


def repeats(context: TorchContext, action: Callable[[], Any]) -> int:
    """Calls of `action` that take about one sample's seconds."""
    action()
    seconds = max(context.clock(action), 1e-7)
    return max(1, min(REPEATS, round(SAMPLE_SECONDS / seconds)))


def warm_up(context: TorchContext, action: Callable[[], Any], repeat: int) -> int:
    """Run until three samples in a row agree, or the time for it is over; the number of samples it took."""
    last: list[float] = []
    until = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < until:
        last.append(context.clock(action, repeat))
        three = last[-3:]
        if len(three) == 3 and max(three) - min(three) <= STABLE * statistics.median(three):
            break
    return len(last)


def take_samples(context: TorchContext, action: Callable[[], Any], repeat: int) -> list[float]:
    """Seconds of one call, once for each sample."""
    samples: list[float] = []
    until = time.perf_counter() + BUDGET_SECONDS
    while len(samples) < LEAST or (time.perf_counter() < until and len(samples) < MOST):
        samples.append(context.clock(action, repeat))
    return samples


def try_figure(missing: dict[str, str], name: str, make: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """The figure in a list, or an empty one and the reason in `missing`: a type or a path that this chip or torch does not have."""
    try:
        return [make()]
    except EXPECTED as error:
        missing[name] = (type(error).__name__ + ": " + str(error).partition("\n")[0])[:300]
        return []


def ratio(figures: list[dict[str, Any]], above: str, below: str) -> float | None:
    """The value of one figure divided by that of another; None without both."""
    values = {figure["name"]: figure["value"] for figure in figures}
    return round_to_five(values[above] / values[below]) if above in values and values.get(below) else None
