"""Stages of level 2: what only shows with time or with memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .compare import Wrong
from .on_torch import TorchContext

CHUNK, CPU_CHUNK = 256 << 20, 32 << 20
"""Bytes of one allocation of the memory test, on a GPU and on a CPU."""
SHARE = 0.8
CPU_BLOCKS = 4
"""Blocks that the memory test takes where the device is the CPU."""
WARM_SECONDS, WARM_SHARE = 10.0, 0.5
"""A second start is cold when its first kernels take this many seconds, and at least this share of what the first start took."""


def memory(context: TorchContext) -> dict[str, Any]:
    """Fill most of the free device memory with numbers that depend on the place, read all of them back, then their complement.

    A cell that forgets and an address that reaches another cell both show. Reasons: bad-memory, or OutOfMemoryError long before
    the share is reached.
    """
    torch = context.torch
    size = CHUNK if context.on_gpu else CPU_CHUNK
    number, length = max(1, int(free_bytes(context) // size)), size // 4
    ruler = torch.arange(length, dtype=torch.int32, device=context.device)
    chunks = []
    for flip in (0, -1):
        for n in range(number):
            context.report(f"writing {n + 1} of {number} blocks of {size >> 20} MiB")
            if not flip:
                chunks.append(torch.empty_like(ruler))
            torch.bitwise_xor(ruler, salt(n) ^ flip, out=chunks[n])
        for n, chunk in enumerate(chunks):
            context.report(f"reading {n + 1} of {number} blocks of {size >> 20} MiB")
            bad = int((torch.bitwise_xor(chunk, salt(n) ^ flip) != ruler).sum())
            if bad:
                raise Wrong(
                    "bad-memory", f"{bad} of {length} words of block {n} do not hold what was written", wrong=bad, block=n
                )
    return {"tested_bytes": number * size}


def salt(block: int) -> int:
    """A number of 31 bits for each block, so that no two blocks hold the same words (Knuth's multiplicative hash)."""
    return (block + 1) * 2654435761 % (1 << 31)


def free_bytes(context: TorchContext) -> float:
    """What the memory test may take. An integrated GPU shares system memory with everything else: half of what is available at
    most.
    """
    if not context.on_gpu:
        return CPU_BLOCKS * CPU_CHUNK
    free: int = context.torch.cuda.mem_get_info(context.device)[0]
    integrated = getattr(context.torch.cuda.get_device_properties(context.device), "is_integrated", False)
    room = SHARE * free - 4 * CHUNK  # the ruler, the comparison, and its result
    return min(room, 0.5 * main_memory_available()) if integrated else room


def main_memory_available() -> float:
    """Available system memory in bytes."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def kernels(context: TorchContext) -> dict[str, Any]:
    """Seconds until the first kernels of a fresh process have run. The second such process finds the caches of the first.

    Reason: cold-again, when the second start is about as slow as the first and slow at all: a kernel cache that does not warm up
    (ROCm/legacy-rocm-build#6369: 385 s for every run instead of 6 s).
    """
    torch = context.torch
    first_calls: dict[str, float] = {}
    for name, action in first_kernels(context):
        context.report(f"first {name} of a fresh process (kernels may be compiled)")
        first_calls[name] = round(context.clock(action), 3)
    total = sum(first_calls.values())
    note = Path(context.args.results).parent / f"kernels-{context.device.type}-{context.args.gpu}"
    before = recall(note)
    note.write_text(str(total), encoding="ascii")
    if before is not None and total > WARM_SECONDS and total > WARM_SHARE * before:
        text = f"the first kernels took {total:.1f} s in a second process, {before:.1f} s in the first: no kernel cache is kept"
        raise Wrong("cold-again", text, seconds=total, before=before)
    return {"seconds": first_calls, "before": before, "torch": str(torch.__version__)}


def first_kernels(context: TorchContext) -> list[Any]:
    """Name and action of each first kernel."""
    torch = context.torch
    square, image = context.random(256, 256), context.random(2, 8, 32, 32)
    return [
        ("product", lambda: context.put(square) @ context.put(square)),
        ("softmax", lambda: torch.softmax(context.put(square), dim=1)),
        ("convolution", lambda: torch.nn.functional.conv2d(context.put(image), context.put(torch.ones(8, 8, 3, 3)))),
        ("normalisation", lambda: torch.nn.functional.layer_norm(context.put(square), (256,))),
    ]


def recall(path: Path) -> float | None:
    """Seconds that an earlier process needed."""
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
