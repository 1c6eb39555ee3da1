"""Counters of errors and who uses what, as the kernel keeps them: RAS and PCIe of each GPU, memory of each process, RDMA ports.

Serial numbers and addresses (the GIDs of a port) are not kept: how many there are is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.files import list_names, read_text

PROCESSES = "sys/class/kfd/kfd/proc"
RDMA = "sys/class/infiniband"
_NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
_PORT_FILES = ("state", "phys_state", "link_layer", "rate")
_MOST = 256
"""Processes, and GIDs of a port, that are looked at."""


def gpu_health(root: Path, device: str) -> Iterator[Artifact]:
    """`.health`: the error counters of the GPU. Only for a GPU that is awake: the driver asks it."""
    counters: list[str] = []
    for name in list_names(root, f"{device}/ras"):
        if name.endswith("_err_count"):
            lines = read_text(root, f"{device}/ras/{name}").splitlines()
            counters += [f"{name.removesuffix('_err_count')} {line.strip()}" for line in lines if ":" in line]
        elif name == "gpu_vram_bad_pages":
            counters.append(f"bad pages: {read_text(root, f'{device}/ras/{name}').count(' : ') // 2}")
    if replays := read_text(root, f"{device}/pcie_replay_count").strip():
        counters.append(f"pcie replays: {replays}")
    for kind in ("fatal", "nonfatal"):
        words = [line.split() for line in read_text(root, f"{device}/aer_dev_{kind}").splitlines()]
        counts = {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}
        # A request that is not supported is usual while the bus is enumerated.
        if counts:
            counters.append(f"pcie {kind}: {sum(n for name, n in counts.items() if not name.startswith(('TOTAL', 'UnsupReq')))}")
    if counters:
        uptime = read_text(root, "proc/uptime").split()
        counters += [f"uptime: {uptime[0].partition('.')[0]}"] if uptime else []
        yield Artifact(f"{device}/.health", "live", "".join(f"{line}\n" for line in counters))


def gpu_processes(root: Path) -> Iterator[Artifact]:
    """Device memory by process and GPU (the driver's number of it), for processes that have some."""
    sizes: list[str] = []
    for pid in [name for name in list_names(root, PROCESSES) if name.isdigit()][:_MOST]:
        for name in list_names(root, f"{PROCESSES}/{pid}"):
            size = read_text(root, f"{PROCESSES}/{pid}/{name}").strip() if name.startswith("vram_") else ""
            if size.isdigit() and int(size):
                sizes.append(f"{pid} {name.removeprefix('vram_')}: {size}\n")
    if sizes:
        yield Artifact(PROCESSES, "live", "".join(sizes))


def rdma_ports(root: Path) -> Iterator[Artifact]:
    """State of each RDMA port, and how many GIDs it has."""
    states: list[str] = []
    for device in list_names(root, RDMA):
        for port in list_names(root, f"{RDMA}/{device}/ports"):
            folder = f"{RDMA}/{device}/ports/{port}"
            states += [f"{device}/{port} {name}: {read_text(root, f'{folder}/{name}').strip()}\n" for name in _PORT_FILES]
            gids = (read_text(root, f"{folder}/gids/{name}").strip() for name in list_names(root, f"{folder}/gids")[:_MOST])
            states.append(f"{device}/{port} gids: {sum(gid not in ('', _NO_GID) for gid in gids)}\n")
    if states:
        yield Artifact(RDMA, "live", "".join(states))
