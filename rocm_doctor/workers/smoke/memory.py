"""The memory of a GPU: a pattern over most of it, and copies to the other GPUs."""

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
LENGTHS = (1, 1003, 1 << 20)
"""Words of a copy between GPUs."""


def memory(context: TorchContext) -> dict[str, Any]:
    """Fill most of the free device memory with numbers that depend on the place, read all of them back, then their complement. A
    cell that forgets and an address that reaches another cell both show. Reasons: bad-memory, or OutOfMemoryError long before the
    share is reached."""
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
    """Bytes that the memory test takes: SHARE of the free memory, of an integrated GPU at most half of the available system
    memory."""
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


def peer(context: TorchContext) -> dict[str, Any]:
    """Copies between every two GPUs, both ways, bit for bit. Without peer access the driver goes through the host; that must work
    too."""
    context.need_gpus(2)
    torch = context.torch
    count, access = torch.cuda.device_count(), {}
    for one in range(count):
        for other in range(count):
            if one != other:
                access[f"{one}-{other}"] = bool(torch.cuda.can_device_access_peer(one, other))
                for length in LENGTHS:
                    context.report(f"copy of {length} words from GPU {one} to GPU {other}")
                    source = torch.randint(1, 1 << 30, (length,), generator=context.generator)
                    got = torch.zeros_like(source, device=f"cuda:{other}").copy_(source.to(f"cuda:{one}"))
                    context.same_bits(f"copy of {length} words from GPU {one} to GPU {other}", got, source)
    return {"peer_access": access}
