"""Clocks, power and temperature of an AMD GPU while something is measured. What cannot be read is left out."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ..smoke import hip as smoke_hip
from ..smoke.on_torch import TorchContext
from . import hip

PERIOD = 0.04
"""Seconds between two readings."""


class Sensors(NamedTuple):
    """The sensors of one GPU: a function for a reading, and the limits that do not change."""

    read: Callable[[], dict[str, Any]]
    limits: dict[str, Any]


def find_sensors(context: TorchContext) -> Sensors:
    """The sensors of the device under test."""
    if not context.on_gpu or not smoke_hip.is_hip(context.torch):
        return Sensors(dict, {})
    folder = hip.DEVICES / str(smoke_hip.pci_address(context.torch, context.device.index))
    return Sensors(lambda: hip.reading(folder), hip.limits(folder))


class Watch:
    """Reads the sensors in a thread while something runs."""

    def __init__(self, sensors: Sensors, period: float = PERIOD) -> None:
        self.sensors, self.period = sensors, period
        self.readings: list[dict[str, Any]] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def follow(self) -> None:
        """Read until the end. The first reading waits: the clocks of an idle GPU are of no interest."""
        while not self.over.wait(self.period) and self.look():
            pass

    def look(self) -> bool:
        """One reading now, as after a burst, which is shorter than the period; False if there is none."""
        reading = self.sensors.read()
        self.readings += [reading] if reading else []
        return bool(reading)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(2.0)

    def conditions(self) -> dict[str, Any]:
        """Medians of the readings, and the hottest one."""
        medians: dict[str, Any] = {}
        for name in ("clock_mhz", "power_watts"):
            values = [reading[name] for reading in self.readings if name in reading]
            if values:
                medians[name] = round(float(statistics.median(values)), 1)
        heat = [reading["temperature_c"] for reading in self.readings if "temperature_c" in reading]
        if heat:
            medians["temperature_c"] = float(max(heat))
        if "clock_max_mhz" in self.sensors.limits:
            medians["clock_max_mhz"] = float(self.sensors.limits["clock_max_mhz"])
        return medians
