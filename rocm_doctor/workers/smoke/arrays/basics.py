"""First stages: can the framework be imported, does it reach its device, and do bits survive the way there and back?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..compare import Skip, Wrong
from .context import ArrayContext, has_module

SIZES = (1, 4099, 1 << 20, (16 << 20) + 3)
"""Bytes: one, odd, a page multiple, and more than a staging buffer."""
LARGE = 64 << 20
"""Bytes copied to time the link."""


def import_framework(context: ArrayContext) -> dict[str, Any]:
    """Import the framework. Fails on a missing shared object, a plugin of another version, a CPU that lacks instructions."""
    if not has_module(context.package):
        raise Skip("not-installed", f"{context.package} is not installed in this interpreter")
    context.doing(f"reading {context.package}'s libraries from disk")
    began = time.perf_counter()
    context.load()
    return dict(context.about(), import_seconds=round(time.perf_counter() - began, 3))


def device(context: ArrayContext) -> dict[str, Any]:
    """Start the runtime and read the properties. Fails with not-available (with the framework's words) or no-such-index."""
    context.load()
    context.doing("first contact with the device")
    return context.describe()


def copy(context: ArrayContext) -> dict[str, Any]:
    """There and back, bit for bit, in sizes that take different roads, and in layouts that are not contiguous."""
    for size in SIZES:
        source = random_bytes(context, size)
        context.doing(f"copies of {size} bytes")
        there = context.put(source)
        context.same_bits(f"copy of {size} bytes", there, source)
        context.same_bits(f"on-device copy of {size} bytes", context.copied(there), source)
    strided_copies(context)
    return speeds(context) if context.on_gpu else {}


def random_bytes(context: ArrayContext, size: int) -> Any:
    """Random bytes, none of them zero."""
    return context.generator.integers(1, 256, size, dtype=context.np.uint8)


def strided_copies(context: ArrayContext) -> None:
    """Transposed matrices and columns with steps, each way."""
    source = random_bytes(context, 1021 * 509).reshape(1021, 509)
    context.doing("non-contiguous copies")
    context.same_bits("copy of a transposed array", context.put(source.T), source.T)
    context.same_bits("transposition on the device", context.ops.swap(context.put(source)), source.T)
    context.same_bits("copy of every third column", context.put(source)[:, ::3], source[:, ::3])


def speeds(context: ArrayContext) -> dict[str, Any]:
    """Copy rates in GB/s."""
    host = context.np.zeros(LARGE, dtype=context.np.uint8)
    there = context.put(host)
    moves: dict[str, Callable[[], Any]] = {
        "to_device_gb_s": lambda: context.put(host),
        "to_host_gb_s": lambda: context.get(context.copied(there)),
    }
    for action in moves.values():
        action()  # the first call may compile
    return {name: round(LARGE / context.clock(action, 3) / 1e9, 2) for name, action in moves.items()}


def need_devices(context: ArrayContext, number: int) -> int:
    """The number of devices. Skips if there are fewer than `number`."""
    count = context.device_count()
    if count < number:
        raise Skip("needs-gpus", f"needs {number} devices, {count} are visible")
    return count


def not_available(message: str, **details: Any) -> Wrong:
    """The build is for a GPU and gives none."""
    return Wrong("not-available", message, **details)
