"""One figure from its samples, without torch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rocm_doctor.workers.bench import timing


class Context:
    """What a figure asks of a context."""

    on_gpu = False

    def report(self, what: str) -> None: ...

    def clock(self, action: Callable[[], Any], repeat: int = 1) -> float:
        action()
        return 0.001


def test_sensors_are_read_after_each_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    context: Any = Context()
    clocks = iter((1900.0, 1950.0, 1980.0))
    sensors = SimpleNamespace(read=lambda: {"clock_mhz": next(clocks)}, limits={"clock_max_mhz": 1980.0})
    monkeypatch.setattr(timing, "find_sensors", lambda _: sensors)
    found = timing.burst(context, "matmul-bf16", "TFLOP/s", lambda: None, 1.0, {}, 3)
    assert found["conditions"] == {"clock_mhz": 1950.0, "clock_max_mhz": 1980.0}
