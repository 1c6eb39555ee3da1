"""Copies between host and device, compared bit for bit. IOMMU, SDMA and /dev/shm troubles show here, as zeros or as a hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compare import Wrong, same_bits
from .main import Bench

SIZES = (1, 4099, 1 << 20, (16 << 20) + 3)
"""Bytes: one, odd, a page multiple, and more than a staging buffer."""
LARGE = 64 << 20
"""Bytes copied to time the link."""


def copy(bench: Bench) -> dict[str, Any]:
    """There and back by every path, into buffers that held something else before."""
    torch = bench.torch
    for size in SIZES:
        source = random_bytes(bench, size)
        for name, path in paths(bench).items():
            bench.doing(f"{name} copy of {size} bytes")
            same_bits(torch, f"{name} copy of {size} bytes", path(source), source)
    strided(bench)
    loader(bench)
    return speeds(bench) if bench.on_gpu else {}


def random_bytes(bench: Bench, size: int) -> Any:
    return bench.torch.randint(1, 256, (size,), dtype=bench.torch.uint8, generator=bench.generator)


def paths(bench: Bench) -> dict[str, Callable[[Any], Any]]:
    """Round trips. The buffer at each end is filled first: a copy that does nothing must not look like one that works."""
    torch = bench.torch

    def landing(like: Any, where: Any, pinned: bool = False) -> Any:
        made = torch.empty(like.shape, dtype=like.dtype, device=where, pin_memory=pinned)
        return made.zero_()

    def pageable(source: Any) -> Any:
        return landing(source, "cpu").copy_(landing(source, bench.device).copy_(source))

    def on_device(source: Any) -> Any:
        return landing(source, "cpu").copy_(landing(source, bench.device).copy_(bench.put(source)))

    def pinned(source: Any) -> Any:
        return landing(source, "cpu", True).copy_(landing(source, bench.device).copy_(source.pin_memory()))

    def non_blocking(source: Any) -> Any:
        there = landing(source, bench.device).copy_(source.pin_memory(), non_blocking=True)
        back = landing(source, "cpu", True).copy_(there, non_blocking=True)
        bench.sync()
        return back

    both: dict[str, Callable[[Any], Any]] = {"pageable": pageable, "on-device": on_device}
    return dict(both, pinned=pinned, non_blocking=non_blocking) if bench.on_gpu else both


def strided(bench: Bench) -> None:
    """Non-contiguous tensors: transposed and with steps, each way."""
    torch = bench.torch
    source = random_bytes(bench, 1021 * 509).view(1021, 509)
    bench.doing("non-contiguous copies")
    same_bits(torch, "copy of a transposed tensor", bench.put(source.t().contiguous()).t().to("cpu"), source)
    there = torch.empty(509, 1021, dtype=torch.uint8, device=bench.device).zero_()
    same_bits(torch, "copy from a transposed tensor", there.copy_(source.t()), source.t())
    same_bits(torch, "copy of every third column", bench.put(source)[:, ::3], source[:, ::3])


def loader(bench: Bench) -> None:
    """Batches from a DataLoader worker, which hands them over in shared memory (/dev/shm)."""
    torch = bench.torch
    bench.doing("batches from a DataLoader worker process")
    rows = random_bytes(bench, 64 * 1024).view(64, 1024)
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows), batch_size=16, num_workers=1, timeout=30, pin_memory=bench.on_gpu
    )
    seen = 0
    for batch in data:
        got = bench.put(batch[0])
        same_bits(torch, "batch from a DataLoader worker", got, rows[seen : seen + len(got)])
        seen += len(got)
    if seen != len(rows):
        raise Wrong("lost-batches", f"a DataLoader worker gave {seen} of {len(rows)} rows")


def speeds(bench: Bench) -> dict[str, Any]:
    torch = bench.torch
    host = torch.empty(LARGE, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(LARGE, dtype=torch.uint8, device=bench.device)
    there.copy_(host)
    up, down = bench.clock(lambda: there.copy_(host), 3), bench.clock(lambda: host.copy_(there), 3)
    return {"to_device_gb_s": round(LARGE / up / 1e9, 2), "to_host_gb_s": round(LARGE / down / 1e9, 2)}
