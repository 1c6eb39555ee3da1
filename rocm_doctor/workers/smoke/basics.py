"""First stages: can the framework be imported, does it reach its device, and do bits survive the way there and back?"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from .compare import Skip, Wrong
from .context import Context

SIZES = (1, 4099, 1 << 20, (16 << 20) + 3)
"""Bytes: one, odd, a page multiple, and more than a staging buffer."""


def import_framework(context: Context) -> dict[str, Any]:
    """The version of the framework, its build, and the seconds of its import. Skipped if it is not installed. Fails on a missing
    shared object, a mixed installation, or a CPU that lacks instructions of the build."""
    if importlib.util.find_spec(context.package) is None:
        raise Skip("not-installed", f"{context.package} is not installed in this interpreter")
    context.report(f"reading {context.package}'s libraries from disk")
    began = time.perf_counter()
    context.load()
    return dict(context.describe_build(), import_seconds=round(time.perf_counter() - began, 3))


def device(context: Context) -> dict[str, Any]:
    """Start the runtime and read the properties. Reasons: not-available (with the runtime's words), no-such-index."""
    context.load()
    context.report("first contact with the device")
    return context.describe()


def copy(context: Context) -> None:
    """Copy there and back by every way, bit for bit, in sizes that take different roads, and in layouts that are not contiguous.
    IOMMU, SDMA and /dev/shm troubles show here, as zeros or as a hang."""
    for size in SIZES:
        source = context.random_bytes(size)
        for name, trip in context.round_trips().items():
            context.report(f"{name} copy of {size} bytes")
            context.same_bits(f"{name} copy of {size} bytes", trip(source), source)
    source = context.random_bytes(1021 * 509).reshape(1021, 509)
    context.report("non-contiguous copies")
    context.same_bits("copy of a transposed array", context.put(source.T), source.T)
    context.same_bits("transposition on the device", context.ops.swap(context.put(source)), source.T)
    context.same_bits("copy of every third column", context.put(source)[:, ::3], source[:, ::3])
    if context.framework == "torch":
        loader(context)


def loader(context: Any) -> None:
    """Compare batches from a worker of torch's DataLoader, which hands them over in shared memory (/dev/shm). Reason:
    lost-batches."""
    torch = context.torch
    context.report("batches from a DataLoader worker process")
    rows = context.random_bytes(64 * 1024).view(64, 1024)
    data = torch.utils.data.TensorDataset(rows)
    seen = 0
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=16, num_workers=1, timeout=30, pin_memory=context.on_gpu):
        context.same_bits("batch from a DataLoader worker", context.put(batch), rows[seen : seen + len(batch)])
        seen += len(batch)
    if seen != len(rows):
        raise Wrong("lost-batches", f"a DataLoader worker gave {seen} of {len(rows)} rows")
