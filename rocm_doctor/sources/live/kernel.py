"""The kernel's data on AMD GPUs, read without tools: KFD topology, DRM, the PCI bus, the amdgpu module, and the kernel log.

Nothing needs a right beyond reading sysfs. The PCIe link is read only of a GPU that is awake: the kernel answers for it from the
device's config space and may wake the device to do so. Serial numbers and unique ids are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rocm_doctor.bounded import files
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Why
from rocm_doctor.sources.live.files import exists, keep_lines, list_names, marker, read, read_all, read_text
from rocm_doctor.sources.live.health import gpu_health, gpu_processes, rdma_ports

KFD = "sys/class/kfd/kfd/topology/nodes"
PCI = "sys/bus/pci/devices"
MODULE = "sys/module/amdgpu"
_CARD = regex(r"card\d+")
_AWAKE = ("active", "unsupported", "")
"""Values of power/runtime_status for a powered device: now, always (no runtime power management), or unknown."""
_LINK_FILES = ("current_link_width", "current_link_speed", "max_link_width", "max_link_speed")
_DRM_FILES = (
    "vendor", "device", "class", "uevent", "product_name", "numa_node", "mem_info_vram_total",
    "mem_info_vram_used", "mem_info_gtt_total", "current_compute_partition",
)  # fmt: skip
_MODULES = "amdgpu|radeon|nvidia|nouveau|vfio_pci"
_AMD = "0x1002"
_LOG_WORDS = ("amdgpu", "kfd", "drm", "iommu", "amd-vi", "oom", "out of memory", "linux version", "ttm", "radeon")


def kernel_files(root: Path) -> list[Artifact]:
    """Every artifact of the kernel's own about GPUs, under its path."""
    return [*_kfd(root), *gpu_processes(root), *_drm(root), *rdma_ports(root), *_pci(root), *_module(root), *_debugfs(root)]


def _kfd(root: Path) -> Iterator[Artifact]:
    if not list_names(root, KFD):
        yield from marker(root, "sys/class/kfd", note_absent=True)
    yield from read_all(
        root, f"{KFD}/*/properties", f"{KFD}/*/gpu_id", f"{KFD}/*/mem_banks/*/properties", f"{KFD}/*/*_links/*/properties"
    )


def _drm(root: Path) -> Iterator[Artifact]:
    for device in (f"sys/class/drm/{name}/device" for name in list_names(root, "sys/class/drm") if _CARD.fullmatch(name)):
        if read_text(root, f"{device}/vendor").strip() == _AMD:
            yield from read_all(root, *(f"{device}/{file}" for file in _DRM_FILES))
            yield from _awake(root, device)
    yield from read_all(root, "sys/class/drm/renderD*/device/uevent")


def _awake(root: Path, device: str) -> Iterator[Artifact]:
    """What the driver asks the GPU for, if that does not wake it: its link and that of its slot, power limits, error counters."""
    status = read_text(root, f"{device}/power/runtime_status").strip()
    if status in _AWAKE:
        yield from read_all(root, *(f"{device}/{file}" for file in _LINK_FILES))
        yield from _slot_link(root, device)
        yield from _power(root, device)
        yield from gpu_health(root, device)
    else:
        note = f"the GPU is {status}; reading its link could wake it"
        yield from (Artifact(f"{device}/{file}", "live", missing="not-asked", note=note) for file in _LINK_FILES)


def _power(root: Path, device: str) -> Iterator[Artifact]:
    """`.power`: the power limits of the board, in microwatts, out of its hwmon folder."""
    for folder in list_names(root, f"{device}/hwmon")[:1]:
        limits = {
            name: read_text(root, f"{device}/hwmon/{folder}/{name}").strip() for name in ("power1_cap", "power1_cap_default")
        }
        if any(limits.values()):
            yield Artifact(f"{device}/.power", "live", "".join(f"{name}: {value}\n" for name, value in limits.items()))


def _slot_link(root: Path, device: str) -> Iterator[Artifact]:
    """`.link`: the PCIe link of the slot. A GPU with its own switch reports only the link behind that, always at full width.

    The GPU's upstream port is the topmost of AMD's bridges above the GPU.
    """
    path, port = (root / device).resolve().parent, None
    while read_text(path, "vendor").strip() == _AMD and read_text(path, "class").startswith("0x0604"):
        path, port = path.parent, path
    if port:
        link = "".join(f"{name}: {read_text(port, name).strip()}\n" for name in _LINK_FILES)
        yield Artifact(f"{device}/.link", "live", f"port: {port.name}\n{link}")


def _pci(root: Path) -> Iterator[Artifact]:
    """AMD display controllers and accelerators, whatever driver has claimed them; and the number of devices checked."""
    devices = list_names(root, PCI)
    if not devices:
        yield Artifact(PCI, "live", missing="absent-source", note="no PCI bus to look at")
        return
    yield Artifact(PCI, "live", f"devices: {len(devices)}\n")
    for device in (f"{PCI}/{name}" for name in devices):
        is_amd = read_text(root, f"{device}/vendor").strip() == _AMD
        if is_amd and read_text(root, f"{device}/class").startswith(("0x03", "0x1200")):
            yield from read_all(root, *(f"{device}/{file}" for file in ("vendor", "device", "class", "uevent")))


def _module(root: Path) -> Iterator[Artifact]:
    yield from marker(root, MODULE, note_absent=True)
    if exists(root, MODULE):
        yield from read(root, f"{MODULE}/initstate", note_absent=True)
        yield from read(root, f"{MODULE}/version", note_absent=True)
    else:
        release = read_text(root, "proc/sys/kernel/osrelease").strip()
        yield from read(root, f"lib/modules/{release}/modules.dep", keep=keep_lines(r"[^:\n]*/amdgpu\.ko"), limit=1 << 22)
    yield from read_all(root, "sys/module/ttm/parameters/pages_limit", "sys/module/amdttm/parameters/pages_limit")
    yield from read(root, "proc/modules", note_absent=True, keep=keep_lines(f"(?:{_MODULES}) "), limit=1 << 20)
    yield from read_all(root, "etc/modprobe.d/*", keep=_gpu_options)


def _gpu_options(text: str) -> str:
    """Lines of a modprobe file that steer the GPU's modules; each other one is left empty, so that lines keep their numbers."""
    steering = ("blacklist ", "install ", "options ")
    ours = (
        line.startswith(steering) and any(word in line for word in ("amdgpu", "ttm", "kfd", "vfio")) for line in text.splitlines()
    )
    return "".join(f"{line if keep else ''}\n" for line, keep in zip(text.splitlines(), ours))


def _debugfs(root: Path) -> Iterator[Artifact]:
    """Firmware versions, which only root may read."""
    base = "sys/kernel/debug/dri"
    if not list_names(root, base) and exists(root, MODULE):
        yield Artifact(f"{base}/0/amdgpu_firmware_info", "live", missing="denied", note="only root may read debugfs")
    yield from read_all(root, f"{base}/*/amdgpu_firmware_info")


def kernel_log(root: Path) -> Artifact:
    """Lines of the kernel log that concern GPUs, read from /dev/kmsg without waiting for new ones."""
    try:
        descriptor = files.open_kernel_log(root / "dev/kmsg")
        try:
            lines = list(_gpu_lines(files.kernel_messages(descriptor)))
        finally:
            os.close(descriptor)
    except OSError as error:
        missing: Why = "absent-source" if isinstance(error, FileNotFoundError) else "denied"
        return Artifact("kernel/log", "live", missing=missing, note=f"/dev/kmsg: {error.strerror}")
    return Artifact("kernel/log", "live", "".join(line + "\n" for line in lines), note="/dev/kmsg, lines on GPUs")


def _gpu_lines(messages: Iterable[tuple[str, str]]) -> Iterator[str]:
    """`[seconds] message` of each message that names a GPU matter."""
    for head, message in messages:
        stamp = head.split(",")
        if len(stamp) >= 3 and stamp[2].isdigit() and any(word in message.lower() for word in _LOG_WORDS):
            yield f"[{int(stamp[2]) / 1e6:12.6f}] {message}"
