"""Stages of level 2: what only shows with time or with memory."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from . import lora
from .compare import Wrong, same_bits
from .context import StageContext

CHUNK, CPU_CHUNK = 256 << 20, 32 << 20
"""Bytes of one allocation of the memory test, on a GPU and on a CPU."""
SHARE = 0.8
CPU_BLOCKS = 4
"""Blocks that the memory test takes where the device is the CPU."""
SOAK_STEPS, SOAK_WARM = 200, 50
GROWTH = 1.05
"""Allocated memory may not grow by more than this between the warm step and the last: the same shapes come round and round."""
RESERVED_GROWTH = 1.25
WARM_SECONDS, WARM_SHARE = 10.0, 0.5
"""A second start is cold when its first kernels take this many seconds, and at least this share of what the first start took."""


def dataloader(context: StageContext) -> dict[str, Any]:
    """Batches by 0 and by 2 workers, with and without pinning; the data must be the same. Reasons: mismatch, zeros, or a hang."""
    torch = context.torch
    rows = torch.randint(1, 256, (512, 4096), dtype=torch.uint8, generator=context.generator)
    data, seconds = torch.utils.data.TensorDataset(rows), {}
    for workers in (0, 2):
        for pinned in (False, True) if context.on_gpu else (False,):
            name = f"{workers} workers{', pinned' if pinned else ''}"
            context.doing("DataLoader with " + name)
            loader = torch.utils.data.DataLoader(
                data, batch_size=64, num_workers=workers, pin_memory=pinned, timeout=30 if workers else 0
            )
            began = time.perf_counter()
            got = torch.cat([batch.to(context.device, non_blocking=pinned) for (batch,) in loader])
            seconds[name] = round(time.perf_counter() - began, 3)
            same_bits(torch, "rows by a DataLoader with " + name, got, rows)
    return {"seconds": seconds}


def memory(context: StageContext) -> dict[str, Any]:
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
            context.doing(f"writing {n + 1} of {number} blocks of {size >> 20} MiB")
            if not flip:
                chunks.append(torch.empty_like(ruler))
            torch.bitwise_xor(ruler, salt(n) ^ flip, out=chunks[n])
        for n, chunk in enumerate(chunks):
            context.doing(f"reading {n + 1} of {number} blocks of {size >> 20} MiB")
            bad = int((torch.bitwise_xor(chunk, salt(n) ^ flip) != ruler).sum())
            if bad:
                raise Wrong(
                    "bad-memory", f"{bad} of {length} words of block {n} do not hold what was written", wrong=bad, block=n
                )
    return {"tested_bytes": number * size}


def salt(block: int) -> int:
    """A number of 31 bits for each block, so that no two blocks hold the same words (Knuth's multiplicative hash)."""
    return (block + 1) * 2654435761 % (1 << 31)


def free_bytes(context: StageContext) -> float:
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


def soak(context: StageContext) -> dict[str, Any]:
    """200 LoRA steps with batches of changing size. Reasons: leak (allocated memory grows), fragmentation (reserved grows),
    nan.
    """
    torch = context.torch
    parts = {key: context.put(value) for key, value in lora.build(context, 512, 16).items()}
    rows = context.put(context.random(512, 512))
    held, losses = [], []
    for step in range(SOAK_STEPS):
        context.doing(f"step {step + 1} of {SOAK_STEPS}")
        some = rows[: 64 + step * 37 % 13 * 32]
        losses += lora.train(context, parts, some, some, steps=1, rate=0.05)
        held.append(allocator(context))
    if not bool(torch.isfinite(torch.stack(losses)).all()):
        raise Wrong("nan", "the loss became NaN or infinite")
    for name, reason, growth in (("allocated", "leak", GROWTH), ("reserved", "fragmentation", RESERVED_GROWTH)):
        warm, last = max(h[name] for h in held[:SOAK_WARM]), max(h[name] for h in held[-SOAK_WARM:])
        if last > warm * growth:
            raise Wrong(
                reason,
                f"{name} memory grew from {warm} to {last} bytes in {SOAK_STEPS - SOAK_WARM} equal steps",
                warm=warm,
                last=last,
            )
    return dict(held[-1], steps=SOAK_STEPS, first_loss=float(losses[0]), last_loss=float(losses[-1]))


def allocator(context: StageContext) -> dict[str, int]:
    """Bytes held. On a CPU the process's size is taken for what is reserved; what is allocated in it is not known."""
    if context.on_gpu:
        return {
            "allocated": context.torch.cuda.memory_allocated(context.device),
            "reserved": context.torch.cuda.memory_reserved(context.device),
        }
    try:
        size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        size = 0
    return {"allocated": 0, "reserved": size}


def kernels(context: StageContext) -> dict[str, Any]:
    """Seconds until the first kernels of a fresh process have run. The second such process finds the caches of the first.

    Reason: cold-again, when the second start is about as slow as the first and slow at all: a kernel cache that does not warm up
    (ROCm/legacy-rocm-build#6369: 385 s for every run instead of 6 s).
    """
    torch = context.torch
    first_calls: dict[str, float] = {}
    for name, action in first_kernels(context):
        context.doing(f"first {name} of a fresh process (kernels may be compiled)")
        first_calls[name] = round(context.clock(action), 3)
    total = sum(first_calls.values())
    note = Path(context.args.results).parent / f"kernels-{context.device.type}-{context.args.gpu}"
    before = recall(note)
    note.write_text(str(total), encoding="ascii")
    if before is not None and total > WARM_SECONDS and total > WARM_SHARE * before:
        text = f"the first kernels took {total:.1f} s in a second process, {before:.1f} s in the first: no kernel cache is kept"
        raise Wrong("cold-again", text, seconds=total, before=before)
    return {"seconds": first_calls, "before": before, "torch": str(torch.__version__)}


def first_kernels(context: StageContext) -> list[Any]:
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
