"""Rounds of the figures that the host decides, without torch: what they keep, and what a disturbed host does to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rocm_doctor.workers.bench import host, timing
from rocm_doctor.workers.bench.host import Part, Rounds


class Context:
    """What the rounds ask of a context."""

    level = timing.QUICK
    on_gpu = False

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def doing(self, what: str) -> None: ...

    def clock(self, action: Callable[[], Any], repeat: int = 1) -> float:
        action()
        return 0.001


def rounds(*parts: Part) -> Rounds:
    made = Rounds.__new__(Rounds)
    made.parts, made.missing, made.best = list(parts), {}, {part.name: [] for part in parts}
    return made


def launches(seed: str) -> Callable[[], float]:
    """6.2 us, and for two rounds at a time up to half as much again, when a neighbor runs; small noise on top."""
    chance = random.Random(seed)
    calls = 0
    busy = 1.0

    def sample() -> float:
        nonlocal calls, busy
        if calls % (2 * host.SAMPLES) == 0:  # two rounds
            busy = chance.choice((1.0, 1.0, 1.1, 1.3, 1.5))
        calls += 1
        return 6.2 * busy * (1 + chance.expovariate(30))

    return sample


@pytest.mark.parametrize("seed", range(10))
def test_two_runs_on_a_disturbed_host_give_the_same_figure(seed: int) -> None:
    figures = []
    for run in ("first", "second"):
        found = rounds(Part("launch-latency", "us", launches(f"{seed} {run}"), {}))
        for _ in range(host.ROUNDS[timing.WHOLE]):
            found.one()
        figures.append(host.made(found.parts[0], found.best["launch-latency"]))
    first, second = (one["value"] for one in figures)
    assert first == pytest.approx(second, rel=0.03)
    assert figures[0]["statistic"] == "fastest"
    assert figures[0]["better"] == "lower"


def test_a_round_keeps_the_fastest_sample_of_times_and_of_rates() -> None:
    times, rates = (iter((3.0, 1.0, 2.0, 4.0, 5.0)) for _ in range(2))
    found = rounds(Part("wait", "us", lambda: next(times), {}), Part("copy", "GB/s", lambda: next(rates), {}))
    found.one()
    assert found.best == {"wait": [1.0], "copy": [5.0]}


def test_two_lucky_rounds_do_not_decide() -> None:
    assert timing.fastest([6.2, 1.0, 6.3, 2.0, 6.4], "lower") == 6.2
    assert timing.fastest([50.0, 9.1, 40.0, 9.0], "higher") == 9.1


def test_drift_is_what_the_halves_of_a_run_differ_by() -> None:
    steady, moved = [10.0, 10.1, 9.9, 10.0] * 2, [10.0] * 4 + [8.0] * 4
    assert timing.figure("x", "GB/s", steady, {}, {})["drift"] == 0
    assert timing.figure("x", "GB/s", moved, {}, {})["drift"] == pytest.approx(0.25)


def test_a_part_that_fails_is_dropped_with_its_reason_and_the_others_go_on() -> None:
    def broken() -> float:
        raise RuntimeError("cannot pin memory")

    found = rounds(Part("loader", "tokens/s", broken, {}), Part("wait", "us", lambda: 1.0, {}))
    found.one()
    found.one()
    assert found.missing == {"loader": "RuntimeError: cannot pin memory"}
    assert found.best["wait"] == [1.0, 1.0]


def test_a_round_runs_after_each_other_figure() -> None:
    context: Any = Context()
    context.keep("rounds", lambda: rounds(Part("wait", "us", lambda: 1.0, {})))
    context.keep("sensors", lambda: SimpleNamespace(read=dict, limits={}))
    host.begin(context)
    timing.burst(context, "matmul-bf16", "TFLOP/s", lambda: None, 1.0, {}, 2)
    assert host.rounds_of(context).count == 1


def test_sensors_are_read_after_each_burst() -> None:
    context: Any = Context()
    clocks = iter((1900.0, 1950.0, 1980.0))
    sensors = SimpleNamespace(read=lambda: {"clock_mhz": next(clocks)}, limits={"clock_max_mhz": 1980.0})
    context.keep("sensors", lambda: sensors)
    found = timing.burst(context, "matmul-bf16", "TFLOP/s", lambda: None, 1.0, {}, 3)
    assert found["conditions"] == {"clock_mhz": 1950.0, "clock_max_mhz": 1980.0}
