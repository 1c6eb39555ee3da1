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
gpu 0 is_apu = False
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import whole
from rocm_doctor.model import Fact, Reading
from rocm_doctor.probes.read.printed import (
    gfx_target,
    hex_id,
    is_elided,
    line_reading,
    lines,
    outputs,
    product_name,
    record_known,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_PAIR = regex(r"\W{0,12}(device#|[A-Za-z][\w.]{2,40}:)\s{0,80}(.*)$")
_RDNA = regex(r"gfx1\d{3}$")


def probe(artifacts: Artifacts) -> ProbeResult:
    """The GPUs that hipInfo lists."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "hipinfo", "hipInfo"):
        devices: list[dict[str, tuple[str, Reading]]] = []
        for line in lines(artifact):
            found = _PAIR.match(line.text)
            if not found or not line.whole:
                continue
            if _begins(devices, found.group(1), found.group(2)):
                devices.append({})
            if devices:
                devices[-1].setdefault(found.group(1)[:-1], (found.group(2).strip(), line_reading(artifact, line)))
        if devices:
            listing = result.listing(not is_elided(artifact))
            for device in devices:
                _record_device(result, listing.gpu(), device)
    return result


def _begins(devices: list[dict[str, tuple[str, Reading]]], key: str, value: str) -> bool:
    """True at a device's first line: its number, or each target where only lines with targets were picked out."""
    numbered = bool(devices) and "device" in devices[-1]
    return (key == "device#" and value.isdigit()) or (key == "gcnArchName:" and not numbered)


def _record_device(result: ProbeResult, gpu: dict[str, Fact], said: dict[str, tuple[str, Reading]]) -> None:
    def value(key: str) -> str:
        return said[key][0] if key in said else ""

    gfx = gfx_target(value("gcnArchName")) or _decimal_target(value("gcnArch"))
    for key, source, read in (
        ("marketing_name", "Name", product_name(value("Name"))),
        ("device_id", "Name", hex_id(value("Name")[7:]) if value("Name").startswith("Device ") else None),
        ("gfx", "gcnArchName" if "gcnArchName" in said else "gcnArch", gfx),
        ("wavefront_size", "warpSize", {"32": 32, "64": 64}.get(value("warpSize"))),
        ("compute_units", "multiProcessorCount", _units(value("multiProcessorCount"), gfx, value("warpSize"))),
        ("vram_bytes", "totalGlobalMem", _memory(value("totalGlobalMem")) if value("isIntegrated") == "0" else None),
        ("is_apu", "isIntegrated", {"0": False, "1": True}.get(value("isIntegrated"))),
        ("pci_bdf", "pciBusID", _address(value("pciDomainID") or "0", value("pciBusID"), value("pciDeviceID"))),
    ):
        if source in said:
            record_known(result, gpu, key, read, said[source][1])


def _decimal_target(number: str) -> str | None:
    """The target of `gcnArch: 906`, printed up to ROCm 5; 910 is gfx90a, whose letter a number cannot hold."""
    return "gfx90a" if number == "910" else gfx_target("gfx" + number)


def _units(printed: str, gfx: str | None, warp: str) -> int | None:
    """Compute units; with wavefronts of 32 (RDNA) the printed count is of WGPs, half as many."""
    wide = warp == "64" and not (gfx and _RDNA.match(gfx))
    return int(printed) if wide and re.fullmatch(r"[1-9]\d{0,3}", printed) else None


def _memory(printed: str) -> int | None:
    """Bytes of `23.98 GB`, rounded to a hundredth; None under 256 MiB, a bug of the Windows runtime (0.16 GB on an RX 6950 XT)."""
    found = re.fullmatch(r"(\d{1,5}\.\d\d) GB", printed)
    return round(float(found.group(1)) * 2**30) if found and float(found.group(1)) >= 0.25 else None


def _address(domain: str, bus: str, device: str) -> str | None:
    """The PCI address; bus and device are decimal here, the function is always 0."""
    place, slot, unit = whole(domain), whole(bus), whole(device)
    if place is None or slot is None or unit is None or slot > 255 or unit > 31 or slot == unit == 0:
        return None
    return f"{place & 0xFFFF:04x}:{slot:02x}:{unit:02x}.0"
