"""hipInfo, HIP's sample program, which is part of the HIP SDK on Windows.

    ==> cmd/hipInfo <==
    device#                           0
    Name:                             AMD Radeon RX 7800 XT
    totalGlobalMem:                   15.98 GB
    isIntegrated:                     0
    gcnArchName:                      gfx1101

>>> print(probe(sample))
gpu 0 marketing_name = AMD Radeon RX 7800 XT
gpu 0 gfx = gfx1101
gpu 0 vram_bytes = 17158394348
gpu 0 is_apu = no
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import whole
from rocm_doctor.probes.read.keyed import Entries, KeyedValue
from rocm_doctor.probes.read.pairs import Keys, record_entries
from rocm_doctor.probes.read.printed import count, gfx_target, hex_id, is_elided, lines, outputs, product_name
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_PAIR = regex(r"\W{0,12}(device#|[A-Za-z][\w.]{2,40}:)\s{0,80}(.*)$")


def _decimal_target(number: str) -> str | None:
    """The target of `gcnArch: 906`, printed up to ROCm 5; 910 is gfx90a, whose letter a number cannot hold."""
    return "gfx90a" if number == "910" else gfx_target("gfx" + number)


def _memory(printed: str) -> int | None:
    """Bytes of `23.98 GB`, rounded to a hundredth; None under 256 MiB, a bug of the Windows runtime (0.16 GB on an RX 6950 XT)."""
    found = re.fullmatch(r"(\d{1,5}\.\d\d) GB", printed)
    return round(float(found.group(1)) * 2**30) if found and float(found.group(1)) >= 0.25 else None


KEYS: Keys = {
    "Name": ("marketing_name", product_name), "gcnArchName": ("gfx", gfx_target), "gcnArch": ("gfx", _decimal_target),
    "warpSize": ("wavefront_size", {"32": 32, "64": 64}.get), "multiProcessorCount": ("compute_units", count),
    "totalGlobalMem": ("vram_bytes", _memory), "isIntegrated": ("is_apu", {"0": False, "1": True}.get), "address": ("pci_bdf", str),
    "id": ("device_id", hex_id),
}  # fmt: skip
"""Fact and reader of each key; `address` is made of three, `id` is that of a name `Device 744c`."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """The GPUs that hipInfo lists; the list is not complete if a part of the output is left out."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "hipinfo", "hipInfo"):
        devices: list[Entries] = []
        for line in lines(artifact):
            found = _PAIR.match(line.text)
            if not found or not line.whole:
                continue
            if _begins_device(devices, found[1], found[2]):
                devices.append({})
            if devices:
                devices[-1].setdefault(found[1][:-1], KeyedValue(found[2].strip(), line.reading))
        if devices:
            listing = result.listing(not is_elided(artifact))
            for device in devices:
                record_entries(result, listing.gpu(), _decided_entries(device), KEYS)
    return result


def _begins_device(devices: list[Entries], key: str, value: str) -> bool:
    """True at a device's first line: its number, or each target where only lines with targets were picked out."""
    numbered = bool(devices) and "device" in devices[-1]
    return (key == "device#" and value.isdigit()) or (key == "gcnArchName:" and not numbered)


def _decided_entries(device: Entries) -> Entries:
    """The entries, with the address, and without those that mean something else on this device: the memory of an APU, the count of
    processors with wavefronts of 32 (RDNA), where it is of WGPs, half as many."""

    def value(key: str) -> str:
        return device[key].value if key in device else ""

    dropped = {"gcnArch"} if gfx_target(value("gcnArchName")) else set()
    if value("isIntegrated") != "0":
        dropped.add("totalGlobalMem")
    if value("warpSize") != "64" or re.match(r"gfx1\d{3}", value("gcnArchName")):
        dropped.add("multiProcessorCount")
    kept = {key: entry for key, entry in device.items() if key not in dropped}
    if value("Name").startswith("Device "):
        kept["id"] = KeyedValue(value("Name")[7:], device["Name"].reading)
    address = _address(value("pciDomainID") or "0", value("pciBusID"), value("pciDeviceID"))
    return {**kept, "address": KeyedValue(address, device["pciBusID"].reading)} if address else kept


def _address(domain: str, bus: str, device: str) -> str | None:
    """The PCI address; bus and device are decimal here, the function is always 0."""
    place, slot, unit = whole(domain), whole(bus), whole(device)
    if place is None or slot is None or unit is None or slot > 255 or unit > 31 or slot == unit == 0:
        return None
    return f"{place & 0xFFFF:04x}:{slot:02x}:{unit:02x}.0"
