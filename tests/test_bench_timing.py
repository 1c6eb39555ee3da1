"""One figure from its samples, without torch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rocm_doctor.workers.bench import products, timing


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


@pytest.mark.parametrize("enabled", [True, False])
def test_the_gain_of_tunableop_is_against_a_run_without_it_and_the_users_choice_is_kept(
    monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    state = {"enabled": enabled, "duration": 30}
    switch = SimpleNamespace(
        is_enabled=lambda: state["enabled"],
        enable=lambda wanted: state.update(enabled=wanted),
        get_max_tuning_duration=lambda: state["duration"],
        set_max_tuning_duration=lambda milliseconds: state.update(duration=milliseconds),
        write_file_on_exit=lambda wanted: None,
    )
    context: Any = SimpleNamespace(torch=SimpleNamespace(cuda=SimpleNamespace(tunable=switch)))
    monkeypatch.setattr(products, "measure_training_shape", lambda *_: {"value": 3.0 if state["enabled"] else 2.0})
    assert products.tunable_gain(context, {}) == {"speed.tunable-gain": 1.5}
    assert state == {"enabled": enabled, "duration": 30}
