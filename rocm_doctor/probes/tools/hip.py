"""hipconfig (a Perl script up to 5.x, a C++ program since) and hipInfo (HIP's sample; part of the HIP SDK on Windows).

    ==> cmd/hipconfig --full <==
    HIP version: 6.4.43484-123eb5128
    ==Environment Variables
    HSA_OVERRIDE_GFX_VERSION=10.3.0
    ==Linux Kernel
    Linux trainbox 6.8.0-60-generic #63-Ubuntu SMP x86_64 GNU/Linux
    Description:    Ubuntu 24.04.2 LTS

>>> print(probe(sample))
hip.version = 6.4.43484-123eb5128
env.HSA_OVERRIDE_GFX_VERSION = 10.3.0
kernel = 6.8.0-60-generic
os = Ubuntu 24.04.2 LTS
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import whole
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import (
    Line,
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

_VERSION = regex(r"\W{0,12}HIP version\s*:\s*(\d+\.\d+[\w.+~-]*)$")
_PAIR = regex(r"\W{0,12}(device#|[A-Za-z][\w.]{2,40}:)\s*(.*)$")
_ENVIRONMENT = regex(r"((?:HSA|HIP|ROCR|ROCM|CUDA|GPU|AMD|HCC)_[A-Z0-9_]+)=(.*)$")
_KERNEL = regex(r"Linux \S+ (\d+\.\d+\.\d+\S*) #")
_RDNA = regex(r"gfx1\d{3}$")


def probe(artifacts: Artifacts) -> ProbeResult:
    """hip.version; env.*, kernel and os from hipconfig's full report; GPUs from hipInfo."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "hipconfig"):
        _record_config(result, artifact)
    for artifact in outputs(result, artifacts, "hipinfo", "hipInfo"):
        _record_info(result, artifact)
    return result


def _record_config(result: ProbeResult, artifact: Artifact) -> None:
    section = ""
    for line in lines(artifact):
        if line.text.startswith("=="):
            section = line.text.strip("= ")
        if not line.whole:
            continue
        reading = line_reading(artifact, line)
        if found := _VERSION.match(line.text):
            result.record("hip.version", found.group(1), reading)
        elif section == "Environment Variables" and (found := _ENVIRONMENT.match(line.text)):
            result.record(f"env.{found.group(1)}", found.group(2), reading)
        elif section == "Linux Kernel":
            _record_kernel(result, line, reading)


def _record_kernel(result: ProbeResult, line: Line, reading: Reading) -> None:
    if found := _KERNEL.match(line.text):
        result.record("kernel", found.group(1), reading)
    elif line.text.startswith("Description:"):
        result.record("os", line.text.partition(":")[2].strip(), reading)


def _record_info(result: ProbeResult, artifact: Artifact) -> None:
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
        ("isa", "gcnArchName", f"amdgcn-amd-amdhsa--{value('gcnArchName')}" if gfx and "gcnArchName" in said else None),
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
