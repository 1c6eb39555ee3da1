"""Meaning of amd-smi's keys, by section and key in lower case; the same in its text, its JSON and (without section) its CSV."""

from __future__ import annotations

import re
from collections.abc import Callable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Plain, Reading
from rocm_doctor.probes.read.printed import bdf, hex_id, name, put, put_release, size, stated_value, target, whole_number
from rocm_doctor.probes.read.result import ProbeResult

_UUID = regex(r"[0-9a-f]{2}ff([0-9a-f]{4})-0000-1000-[0-9a-f]{4}-([0-9a-f]{12})", re.IGNORECASE)


def _render(value: str) -> str | None:
    return value if re.fullmatch(r"renderD\d+", value) else None


def _megabytes(value: str) -> int | None:
    """A size whose unit may be in the key."""
    return size(value) or size(value + " MB") or None


def _watts(value: str) -> int | None:
    found = re.fullmatch(r"([1-9]\d{0,3})(?:\.\d+)?(?: W)?", value)
    return int(found.group(1)) if found else None


def _percent(value: str) -> int | None:
    found = re.fullmatch(r"(\d{1,3}) ?%?", value)
    return int(found.group(1)) if found else None


def _degrees(value: str) -> int | None:
    found = re.fullmatch(r"(\d{1,3}) ?°?C?", value)
    return int(found.group(1)) if found else None


def _units(value: str) -> int | None:
    return whole_number(value) or None


def _transfers(value: str) -> str | None:
    """A PCIe transfer rate as the kernel spells it."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d)?) GT/s", value)
    return f"{float(found.group(1)):.1f} GT/s PCIe" if found else None


def _uuid(value: str) -> str | None:
    """A UUID that ends in zeros: the GPU has no serial number, and all of its model share this text."""
    found = _UUID.fullmatch(value)
    return value if found and found.group(2).strip("0") else None


KEYS: dict[tuple[str, str], tuple[str, Callable[[str], Plain | None]]] = {
    ("asic", "market_name"): ("marketing_name", name),
    ("asic", "device_id"): ("device_id", hex_id),
    ("asic", "num_compute_units"): ("compute_units", _units),
    ("asic", "target_graphics_version"): ("gfx", target),
    ("bus", "bdf"): ("pci_bdf", bdf),
    ("", "bdf"): ("pci_bdf", bdf),
    ("", "gpu_bdf"): ("pci_bdf", bdf),
    ("", "uuid"): ("uuid", _uuid),
    ("", "gpu_uuid"): ("uuid", _uuid),
    ("", "node_id"): ("node", whole_number),
    ("", "render"): ("render_node", _render),
    ("vram", "size"): ("vram_bytes", size),
    ("vram", "vram_size_mb"): ("vram_bytes", _megabytes),
    ("mem_usage", "total_vram"): ("vram_bytes", size),
    ("mem_usage", "used_vram"): ("vram_used_bytes", _megabytes),
    ("limit", "socket_power"): ("power_cap_watts", _watts),
    ("power", "socket_power"): ("power_watts", _watts),
    ("usage", "gfx_activity"): ("busy_percent", _percent),
    ("mem_usage", "used_gtt"): ("gtt_used_bytes", _megabytes),
    ("temperature", "hotspot"): ("temperature", _degrees),
    ("bus", "max_pcie_width"): ("link_max_width", _units),
    ("bus", "max_pcie_speed"): ("link_max_speed", _transfers),
    ("pcie", "width"): ("link_width", _units),
    ("pcie", "speed"): ("link_speed", _transfers),
    ("", "vram_total"): ("vram_bytes", size),
    ("numa", "node"): ("numa_node", whole_number),
    ("vbios", "version"): ("vbios", stated_value),
    ("ifwi", "version"): ("vbios", stated_value),
}
_ANYWHERE = {key: value for (section, key), value in KEYS.items() if section in ("asic", "") or key == "total_vram"}


def describe(result: ProbeResult, gpu: dict[str, Fact], section: str, key: str, value: str, reading: Reading) -> None:
    """Record the fact behind a key of a section, of the GPU or (driver) of the machine."""
    section, key = section.lower(), key.lower()
    if section == "driver" and key in ("version", "driver_version") and stated_value(value):
        put_release(result, value, reading)
    if key in ("uuid", "gpu_uuid") and (found := _UUID.fullmatch(value)):
        put(result, gpu, "device_id", hex_id(found.group(1)), reading)
    if fact := KEYS.get((section, key)) or (_ANYWHERE.get(key) if section in ("", "csv") else None):
        put(result, gpu, fact[0], fact[1](value), reading)
