"""Bandwidth: the GPU's memory, copies between host and device, copies to another GPU."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import Any

from ..smoke.compare import Skip
from ..smoke.on_torch import TorchContext
from .timing import rate, ratio, try_figure

LARGEST = 1 << 30
"""Bytes of one array: several times the largest cache of a GPU (256 MiB)."""
COPY = 256 << 20
PIECE, PIECES = 32 << 20, 8
"""Bytes of a copy from pageable memory, and so many of them: more than a processor's cache."""
CPU_BYTES = 32 << 20
PART = 16
"""An array takes this part of the free memory at most."""


def memory(context: TorchContext) -> dict[str, Any]:
    """`memory-triad` (two arrays read, one written) and `memory-copy`; every byte read or written counts."""
    torch, size = context.torch, array_bytes(context)
    a, b, c = (torch.ones(size // 4, device=context.device) for _ in range(3))
    figures = [
        rate(context, "memory-triad", "GB/s", lambda: torch.add(a, b, alpha=2.5, out=c), 3 * size / 1e9, {"bytes": 3 * size}),
        rate(context, "memory-copy", "GB/s", lambda: c.copy_(a), 2 * size / 1e9, {"bytes": 2 * size}),
    ]
    return {"figures": figures}


def array_bytes(context: TorchContext) -> int:
    """Bytes of one array: larger than any cache, and a part of the free memory."""
    if not context.on_gpu:
        return CPU_BYTES
    free = context.torch.cuda.mem_get_info(context.device)[0]
    return int(min(LARGEST, free // PART)) // 4 * 4


def copies(context: TorchContext) -> dict[str, Any]:
    """Copies to the device and back from pinned memory; speed.pinned-gain: those to the device against pageable memory."""
    if not context.on_gpu:
        raise Skip("needs-gpus", "host and device are the same on a CPU")
    torch, figures = context.torch, []
    there = torch.empty(COPY, dtype=torch.uint8, device=context.device)
    missing: dict[str, str] = {}
    here = torch.zeros(COPY, dtype=torch.uint8).pin_memory()
    about = {"bytes": COPY, "pinned": bool(here.is_pinned())}
    to = partial(there.copy_, here, non_blocking=True)
    back = partial(here.copy_, there, non_blocking=True)
    for way, action in (("host-to-device", to), ("device-to-host", back)):
        name = f"{way}-pinned"
        figures += try_figure(missing, name, partial(rate, context, name, "GB/s", action, COPY / 1e9, about))
    # Each call takes the next piece of the host's memory, so that no cache holds it.
    pieces = cycle(torch.zeros(PIECES * PIECE, dtype=torch.uint8).split(PIECE))
    part = there[:PIECE]
    about = {"bytes": PIECE, "pinned": False}
    name = "host-to-device-pageable"
    figures += try_figure(
        missing, name, partial(rate, context, name, "GB/s", lambda: part.copy_(next(pieces)), PIECE / 1e9, about)
    )
    gain = ratio(figures, "host-to-device-pinned", name)
    return {"figures": figures, "facts": {} if gain is None else {"speed.pinned-gain": gain}, "missing": missing}


def peer(context: TorchContext) -> dict[str, Any]:
    """`peer-copy`: to the next GPU."""
    context.need_gpus(2)
    torch, index = context.torch, context.device.index
    other = (index + 1) % torch.cuda.device_count()
    here = torch.empty(COPY, dtype=torch.uint8, device=context.device)
    there = torch.empty(COPY, dtype=torch.uint8, device=f"cuda:{other}")
    about = {"bytes": COPY, "to": other, "access": bool(torch.cuda.can_device_access_peer(index, other))}

    def action() -> None:
        there.copy_(here, non_blocking=True)

    return {
        "figures": [rate(context, "peer-copy", "GB/s", action, COPY / 1e9, about)],
        "facts": {"speed.peer-access": about["access"]},
    }
