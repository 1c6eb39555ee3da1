"""A busy GPU cannot be measured: who uses it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..smoke import hip as smoke_hip
from ..smoke.compare import Wrong
from ..smoke.on_torch import TorchContext
from . import hip
from .sensors import find_sensors


def idle(context: TorchContext) -> dict[str, Any]:
    """The limits of the GPU. Reason: busy, if another program holds memory of it."""
    read = context.on_gpu and smoke_hip.is_hip(context.torch)
    programs = hip.other_programs(context.torch, context.device.index) if read else []
    if programs:
        words = ", ".join(
            f"{process_name(program['pid'])} (pid {program['pid']}, {program['bytes'] / 2**30:.1f} GiB)" for program in programs
        )
        raise Wrong("busy", f"the GPU is in use by {words}", programs=programs)
    return {"limits": find_sensors(context).limits}


def process_name(pid: int) -> str:
    """The process's name. The driver's number of a process may not exist in this container: then there is no name."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "a program outside of this container"
