"""The time from the host to a kernel: many small launches, and one that is waited for."""

from __future__ import annotations

from typing import Any

from ..smoke.context import StageContext
from .sensors import Watch, sensors_of
from .timing import figure, repeats, sampled, warm_up

MICRO = 1e6


def launch(context: StageContext) -> dict[str, Any]:
    """`launch-latency`: microseconds of one launch in a row of them; `launch-wait`: of one that is waited for."""
    small = context.torch.ones(16, device=context.device)
    return {"figures": [in_a_row(context, small), waited_for(context, small)]}


def in_a_row(context: StageContext, small: Any) -> dict[str, Any]:
    """Many launches, waited for at the end."""
    return micro(context, "launch-latency", lambda: small.add_(1.0))


def waited_for(context: StageContext, small: Any) -> dict[str, Any]:
    """Each launch waited for."""

    def action() -> None:
        small.add_(1.0)
        context.sync()

    return micro(context, "launch-wait", action)


def micro(context: StageContext, name: str, action: Any) -> dict[str, Any]:
    """A figure in microseconds of one call."""
    context.doing(name)
    repeat = repeats(context, action)
    warm = warm_up(context, action, repeat)
    with Watch(sensors_of(context)) as watch:
        seconds = sampled(context, action, repeat)
    return figure(name, "us", [one * MICRO for one in seconds], {"repeat": repeat, "warm_up": warm}, watch.conditions(), "lower")
