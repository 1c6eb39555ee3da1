"""Clocks, power, temperature and throttle reasons while something is measured. What cannot be read is left out."""

from __future__ import annotations

import importlib
import statistics
import threading
from collections.abc import Callable
from typing import Any

from ..smoke import hip as smoke_hip
from ..smoke.on_torch import TorchContext
from . import hip

PERIOD = 0.04
"""Seconds between two readings."""
NVML_REASONS = {0x4: "power", 0x8: "hardware", 0x20: "thermal", 0x40: "thermal", 0x80: "power-brake"}
"""Bits of nvmlDeviceGetCurrentClocksEventReasons that lower the clocks under load (NVML API reference)."""


class Sensors:
    """The sensors of one GPU: a function for a reading, and the limits that do not change."""

    def __init__(self, read: Callable[[], dict[str, Any]], limits: dict[str, Any]) -> None:
        self.read = read
        self.limits = limits


def sensors_of(context: TorchContext) -> Sensors:
    """The sensors of the device under test, found once."""

    def find() -> Sensors:
        if not context.on_gpu:
            return Sensors(dict, {})
        if smoke_hip.is_hip(context.torch):
            read, limits = hip.sensors(context.torch, context.device.index)
            return Sensors(read, limits)
        return nvml(context.torch, context.device.index)

    found: Sensors = context.keep("sensors", find)
    return found


def nvml(torch: Any, index: int) -> Sensors:
    """Sensors of an NVIDIA GPU by NVML's Python binding, where it is installed."""
    try:
        binding = importlib.import_module("pynvml")
        binding.nvmlInit()
        handle = binding.nvmlDeviceGetHandleByPciBusId(str(smoke_hip.pci_address(torch, index)).encode())
    except Exception:
        return Sensors(dict, {})
    calls: dict[str, Callable[[], Any]] = {
        "clock_mhz": lambda: binding.nvmlDeviceGetClockInfo(handle, binding.NVML_CLOCK_SM),
        "power_watts": lambda: binding.nvmlDeviceGetPowerUsage(handle) / 1000,
        "temperature_c": lambda: binding.nvmlDeviceGetTemperature(handle, binding.NVML_TEMPERATURE_GPU),
        "throttle": lambda: reasons(binding.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
    }
    limits: dict[str, Callable[[], Any]] = {
        "clock_max_mhz": lambda: binding.nvmlDeviceGetMaxClockInfo(handle, binding.NVML_CLOCK_SM),
        "power_cap_watts": lambda: binding.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "power_default_watts": lambda: binding.nvmlDeviceGetPowerManagementDefaultLimit(handle) / 1000,
        "link_width": lambda: binding.nvmlDeviceGetCurrPcieLinkWidth(handle),
        "link_max_width": lambda: binding.nvmlDeviceGetMaxPcieLinkWidth(handle),
        "link_speed": lambda: generation(binding.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
        "link_max_speed": lambda: generation(binding.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
    }
    return Sensors(lambda: call_all(calls), call_all(limits))


def generation(number: int) -> str:
    """The transfer rate of a PCIe generation, as sysfs prints it."""
    rates = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
    return rates.get(number, "64.0 GT/s PCIe")


def reasons(bits: int) -> list[str]:
    """The words of the throttle bits that are set."""
    return sorted({word for bit, word in NVML_REASONS.items() if bits & bit})


def call_all(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """What the calls return, without those that the driver refuses."""
    found: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            value = call()
        except Exception:
            continue
        if value is not None:
            found[name] = value
    return found


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
        """Medians of the readings, the hottest one, and every throttle reason seen in at least half of them."""
        found: dict[str, Any] = {}
        for name in ("clock_mhz", "power_watts"):
            values = [one[name] for one in self.readings if name in one]
            if values:
                found[name] = round(float(statistics.median(values)), 1)
        heat = [one["temperature_c"] for one in self.readings if "temperature_c" in one]
        if heat:
            found["temperature_c"] = float(max(heat))
        words = [word for one in self.readings for word in one.get("throttle", ())]
        found["throttle"] = sorted({word for word in words if 2 * words.count(word) >= len(self.readings)})
        if "clock_max_mhz" in self.sensors.limits:
            found["clock_max_mhz"] = float(self.sensors.limits["clock_max_mhz"])
        return {name: value for name, value in found.items() if value != []}
