"""A busy GPU cannot be measured: who uses it?"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from ..smoke import hip as smoke_hip
from ..smoke.compare import Wrong
from ..smoke.on_torch import TorchContext
from . import hip
from .sensors import sensors_of


def idle(context: TorchContext) -> dict[str, Any]:
    """The limits of the GPU. Reason: busy, if another program holds memory of it."""
    found = programs(context) if context.on_gpu else []
    if found:
        words = ", ".join(f"{one['name']} (pid {one['pid']}, {one['bytes'] / 2**30:.1f} GiB)" for one in found)
        raise Wrong("busy", f"the GPU is in use by {words}", programs=found)
    return {"limits": sensors_of(context).limits, "facts": numa(context)}


NODES = Path("/sys/devices/system/node")


def numa(context: TorchContext, nodes: Path = NODES) -> dict[str, Any]:
    """speed.numa-nodes, and speed.numa-local: whether this process may only run on the CPUs of the GPU's node."""
    found = sorted(nodes.glob("node[0-9]*"))
    node = (
        smoke_hip.read(hip.DEVICES / str(smoke_hip.pci_address(context.torch, context.device.index)), "numa_node")
        if context.on_gpu
        else ""
    )
    facts: dict[str, Any] = {"speed.numa-nodes": len(found)} if found else {}
    if node.isdigit() and hasattr(os, "sched_getaffinity"):
        facts["speed.numa-local"] = os.sched_getaffinity(0) <= cpus(smoke_hip.read(nodes / f"node{node}", "cpulist"))
    return facts


def cpus(listed: str) -> set[int]:
    """The CPUs of a list such as `0-3,8`."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def programs(context: TorchContext) -> list[dict[str, Any]]:
    """Other programs that hold memory of the GPU, with their names."""
    if smoke_hip.is_hip(context.torch):
        found = hip.other_programs(context.torch, context.device.index)
    else:
        found = nvml_programs(context.torch, context.device.index)
    return [dict(one, name=name_of(one["pid"])) for one in found]


def nvml_programs(torch: Any, index: int) -> list[dict[str, Any]]:
    """Programs that NVML lists; nothing where its binding is not installed."""
    try:
        binding = importlib.import_module("pynvml")
        binding.nvmlInit()
        handle = binding.nvmlDeviceGetHandleByPciBusId(str(smoke_hip.pci_address(torch, index)).encode())
        running = binding.nvmlDeviceGetComputeRunningProcesses(handle)
    except Exception:
        return []
    return [{"pid": one.pid, "bytes": one.usedGpuMemory or 0} for one in running if one.pid != os.getpid()]


def name_of(pid: int) -> str:
    """The process's name. The driver's number of a process may not exist in this container: then there is no name."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a program outside of this container"
