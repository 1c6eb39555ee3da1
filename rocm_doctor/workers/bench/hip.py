"""Everything in which HIP differs from CUDA for `bench`, in one place.

torch.cuda is the programming interface on ROCm too. Only CUDA GPUs were at hand: what is here comes from the sources named and is
**unproven on AMD hardware**.

| Subject | CUDA | HIP | Source for HIP |
|---|---|---|---|
| sensors | not read | sysfs: hwmon and pp_dpm_* of the PCI device | Linux Documentation/gpu/amdgpu/thermal.rst |
| PCIe link | not read | sysfs current_link_speed, current_link_width | Linux Documentation/ABI/testing/sysfs-bus-pci |
| programs on the GPU | not read | /sys/class/kfd/kfd/proc/<pid>/vram_<gpu> | Linux Documentation/ABI/testing/sysfs-class-kfd (kfd_process.c) |
| BLAS libraries | cublas, cublaslt | the same names mean rocBLAS (by hipBLAS) and hipBLASLt | torch's preferred_blas_library |
| TunableOp | one library to choose from | rocBLAS and hipBLASLt solutions | torch.cuda.tunable documentation |
| throttle reasons | not read | not read: throttle_status is not reliable (ROCm/rocm-systems#11781) | that ticket |
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..smoke import hip as smoke_hip

DEVICES = Path("/sys/bus/pci/devices")
KFD = Path("/sys/class/kfd/kfd")


def reading(folder: Path) -> dict[str, Any]:
    """Clock, power and the hottest temperature now."""
    monitor = hwmon(folder)
    sensors = {
        "clock_mhz": read_scaled(monitor, "freq1_input", 1e6),
        "power_watts": read_scaled(monitor, "power1_average", 1e6) or read_scaled(monitor, "power1_input", 1e6),
        "temperature_c": hottest_sensor(monitor),
    }
    return {name: value for name, value in sensors.items() if value is not None}


def limits(folder: Path) -> dict[str, Any]:
    """Highest clock, power limits, the PCIe link and the performance level."""
    monitor = hwmon(folder)
    widths = [number(read(each, "max_link_width")) for each in (folder, folder.resolve().parent)]
    speeds = [read(each, "max_link_speed") for each in (folder, folder.resolve().parent)]
    values = {
        "clock_max_mhz": highest_clock(read(folder, "pp_dpm_sclk")),
        "power_cap_watts": read_scaled(monitor, "power1_cap", 1e6),
        "power_default_watts": read_scaled(monitor, "power1_cap_default", 1e6),
        "link_width": number(read(folder, "current_link_width")),
        "link_speed": read(folder, "current_link_speed"),
        "link_max_width": min((w for w in widths if w), default=None),
        "link_max_speed": min(filter(None, speeds), key=transfers, default=""),
        "profile": read(folder, "power_dpm_force_performance_level"),
    }
    return {name: value for name, value in values.items() if value not in (None, "")}


def hwmon(folder: Path) -> Path:
    """The monitor of a device."""
    return min(folder.glob("hwmon/hwmon*"), default=folder / "hwmon")


def read(folder: Path, name: str) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def read_scaled(folder: Path, name: str, unit: float) -> float | None:
    """The number in a file, divided by its unit."""
    value = number(read(folder, name))
    return None if value is None else value / unit


def number(text: str) -> int | None:
    """A whole number; None for anything else."""
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None


def hottest_sensor(monitor: Path) -> float | None:
    """The highest of edge, junction and memory temperature."""
    temperatures = [read_scaled(monitor, each.name, 1000.0) for each in monitor.glob("temp*_input")]
    return max((degrees for degrees in temperatures if degrees is not None), default=None)


def highest_clock(levels: str) -> float | None:
    """The highest clock of a pp_dpm file (`1: 2100Mhz *`)."""
    clocks = re.findall(r"(\d+)Mhz", levels)
    return max(map(float, clocks), default=None)


def transfers(speed: str) -> float:
    """The number in `16.0 GT/s PCIe`."""
    match = re.match(r"([\d.]+) GT/s", speed)
    return float(match[1]) if match else 0.0


def other_programs(torch: Any, index: int) -> list[dict[str, Any]]:
    """Programs of others that hold memory of the GPU: pid and bytes. Our own process and its parents are left out."""
    node = find_kfd_node(str(smoke_hip.pci_address(torch, index)))
    programs = []
    for folder in KFD.glob("proc/[0-9]*"):
        size = number(read(folder, f"vram_{node}")) if node else None
        if size and int(folder.name) != os.getpid():
            programs.append({"pid": int(folder.name), "bytes": size})
    return programs


def find_kfd_node(address: str) -> str:
    """The gpu_id of the KFD node at a PCI address; empty if there is none."""
    for folder in KFD.glob("topology/nodes/*"):
        words = dict(line.split(None, 1) for line in read(folder, "properties").splitlines() if " " in line)
        place, domain = int(words.get("location_id", 0)), int(words.get("domain", 0))
        if place and f"{domain:04x}:{place >> 8:02x}:{place >> 3 & 31:02x}.{place & 7}" == address:
            return read(folder, "gpu_id")
    return ""


def library_names(torch: Any) -> dict[str, str]:
    """torch's name of a BLAS backend -> the library that it is here."""
    return (
        {"cublas": "rocblas", "cublaslt": "hipblaslt"}
        if smoke_hip.is_hip(torch)
        else {"cublas": "cublas", "cublaslt": "cublaslt"}
    )
