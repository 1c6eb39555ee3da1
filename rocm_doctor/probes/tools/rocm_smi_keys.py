"""Meaning of rocm-smi's keys, the same in its lists, JSON and CSV. ROCm 6.0 and 6.1 renamed them; lower case here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rocm_doctor.model import Fact, Plain, Reading
from rocm_doctor.probes.read.printed import bdf, hex_id, name, put, stated_value, target
from rocm_doctor.probes.read.result import ProbeResult

Pair = tuple[str, str, Reading]


def _bytes(value: str) -> int | None:
    return int(value) if re.fullmatch(r"[1-9]\d{6,15}", value) else None


def _count(value: str) -> int | None:
    return int(value) if re.fullmatch(r"\d{1,3}", value) else None


def _watts(value: str) -> int | None:
    return round(float(value)) if re.fullmatch(r"[1-9]\d{0,3}(?:\.\d{1,3})?", value) else None


def _target(value: str) -> str | None:
    """The target; ROCm 6.1 and 6.2 print the stepping in decimal: `gfx9010` is gfx90a."""
    decimal = re.fullmatch(r"gfx(9[0-9])(1[0-5])", value)
    return f"gfx{decimal.group(1)}{int(decimal.group(2)):x}" if decimal else target(value)


def _board(value: str) -> str | None:
    """A marketing name; None for two names printed over each other."""
    return None if "Card series:" in value else name(value)


KEYS: dict[str, tuple[str, Callable[[str], Plain | None]]] = {
    "gpu id": ("device_id", hex_id),
    "device id": ("device_id", hex_id),
    "device name": ("marketing_name", _board),
    "card series": ("marketing_name", _board),
    "gfx version": ("gfx", _target),
    "pci bus": ("pci_bdf", bdf),
    "node id": ("node", _count),
    "vbios version": ("vbios", stated_value),
    "vram total memory (b)": ("vram_bytes", _bytes),
    "gtt total memory (b)": ("gtt_bytes", _bytes),
    "vram total used memory (b)": ("vram_used_bytes", _bytes),
    "max graphics package power (w)": ("power_cap_watts", _watts),
    "gpu use (%)": ("busy_percent", _count),
    "gpu memory allocated (vram%)": ("vram_used_percent", _count),
    "average graphics package power (w)": ("power_watts", _watts),
    "current socket graphics package power (w)": ("power_watts", _watts),
    "temperature (sensor junction) (c)": ("temperature", _watts),
    "gtt total used memory (b)": ("gtt_used_bytes", _bytes),
    "(topology) numa node": ("numa_node", _count),
}


def describe(result: ProbeResult, gpu: dict[str, Fact], pairs: Iterable[Pair]) -> None:
    """Record the facts of a GPU behind pairs of key and value."""
    for key, value, reading in pairs:
        fact, read = KEYS.get(key.strip().lower(), (None, stated_value))
        value = value.strip()
        if fact is not None and not (fact == "marketing_name" and fact in gpu):
            put(result, gpu, fact, read(value), reading)
        if (number := hex_id(value)) is not None and (other := _id_fact(key)) and other not in gpu:
            put(result, gpu, other, number, reading)


def _id_fact(key: str) -> str:
    """The fact behind an id under another key. `Card Model` holds the device id since ROCm 6.1 and the subsystem's id before
    (`Card model`). A series without a name in pci.ids is printed as its id."""
    if key in ("Card Model", "Card series", "Card Series", "Device Name"):
        return "device_id"
    return "subsystem_id" if key == "Card model" else ""
