"""Copies between host and device, compared bit for bit. IOMMU, SDMA and /dev/shm troubles show here, as zeros or as a hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compare import Wrong, same_bits
from .context import StageContext

SIZES = (1, 4099, 1 << 20, (16 << 20) + 3)
"""Bytes: one, odd, a page multiple, and more than a staging buffer."""
LARGE = 64 << 20
"""Bytes copied to time the link."""


def copy(context: StageContext) -> dict[str, Any]:
    """There and back by every path, into buffers that held something else before."""
    torch = context.torch
    for size in SIZES:
        source = random_bytes(context, size)
        for name, path in paths(context).items():
            context.doing(f"{name} copy of {size} bytes")
            same_bits(torch, f"{name} copy of {size} bytes", path(source), source)
    strided_copies(context)
    loader(context)
    return speeds(context) if context.on_gpu else {}


def random_bytes(context: StageContext, size: int) -> Any:
    """Random bytes on the CPU."""
    return context.torch.randint(1, 256, (size,), dtype=context.torch.uint8, generator=context.generator)


def paths(context: StageContext) -> dict[str, Callable[[Any], Any]]:
    """Round trips. The buffer at each end is filled first: a copy that does nothing must not look like one that works."""
    torch = context.torch

    def landing(like: Any, where: Any, pinned: bool = False) -> Any:
        made = torch.empty(like.shape, dtype=like.dtype, device=where, pin_memory=pinned)
        return made.zero_()

    def pageable(source: Any) -> Any:
        return landing(source, "cpu").copy_(landing(source, context.device).copy_(source))

    def on_device(source: Any) -> Any:
        return landing(source, "cpu").copy_(landing(source, context.device).copy_(context.put(source)))

    def pinned(source: Any) -> Any:
        return landing(source, "cpu", True).copy_(landing(source, context.device).copy_(source.pin_memory()))

    def non_blocking(source: Any) -> Any:
        there = landing(source, context.device).copy_(source.pin_memory(), non_blocking=True)
        back = landing(source, "cpu", True).copy_(there, non_blocking=True)
        context.sync()
        return back

    both: dict[str, Callable[[Any], Any]] = {"pageable": pageable, "on-device": on_device}
    return dict(both, pinned=pinned, non_blocking=non_blocking) if context.on_gpu else both


def strided_copies(context: StageContext) -> None:
    """Non-contiguous tensors: transposed and with steps, each way."""
    torch = context.torch
    source = random_bytes(context, 1021 * 509).view(1021, 509)
    context.doing("non-contiguous copies")
    same_bits(torch, "copy of a transposed tensor", context.put(source.t().contiguous()).t().to("cpu"), source)
    there = torch.empty(509, 1021, dtype=torch.uint8, device=context.device).zero_()
    same_bits(torch, "copy from a transposed tensor", there.copy_(source.t()), source.t())
    same_bits(torch, "copy of every third column", context.put(source)[:, ::3], source[:, ::3])


def loader(context: StageContext) -> None:
    """Batches from a DataLoader worker, which hands them over in shared memory (/dev/shm)."""
    torch = context.torch
    context.doing("batches from a DataLoader worker process")
    rows = random_bytes(context, 64 * 1024).view(64, 1024)
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows), batch_size=16, num_workers=1, timeout=30, pin_memory=context.on_gpu
    )
    seen = 0
    for batch in data:
        got = context.put(batch[0])
        same_bits(torch, "batch from a DataLoader worker", got, rows[seen : seen + len(got)])
        seen += len(got)
    if seen != len(rows):
        raise Wrong("lost-batches", f"a DataLoader worker gave {seen} of {len(rows)} rows")


def speeds(context: StageContext) -> dict[str, Any]:
    """Copy rates in GB/s."""
    torch = context.torch
    host = torch.empty(LARGE, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(LARGE, dtype=torch.uint8, device=context.device)
    there.copy_(host)
    up, down = context.clock(lambda: there.copy_(host), 3), context.clock(lambda: host.copy_(there), 3)
    return {"to_device_gb_s": round(LARGE / up / 1e9, 2), "to_host_gb_s": round(LARGE / down / 1e9, 2)}
