"""The memory of a GPU that is available to a run: without other processes, the display and the runtime.

BLAS scratch per thread (torch aten/src/ATen/cuda/CublasHandlePool.cpp): 32 MiB for ROCm, 128 MiB on gfx94x and gfx95x, and 76
MiB more where torch takes hipBLASLt by default. The allocator counts it as allocated.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.fit.allocator import GIB, MIB
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Gpu, Snapshot
from rocm_doctor.rules.findings import choosable_gpus

CONTEXT = 512 * MIB
"""An allowance for the HIP runtime, its queues and the code objects that torch loads; no published measurement is known."""


class Card(msgspec.Struct, frozen=True):
    """Memory of one GPU in bytes. `total`: what it can address, None if unknown; `used`: held by other processes; `context`:
    taken by the runtime; `workspace`: BLAS scratch in each of two threads; `notes`: where the figures come from."""

    gfx: str
    name: str
    total: int | None
    used: int
    context: int
    workspace: int
    notes: tuple[str, ...] = ()
    blocker: str = ""
    """What `check` says to mend before anything runs on it, as a title."""

    @property
    def available(self) -> int | None:
        """Bytes that torch's allocator can reserve; None if the GPU's memory is not known."""
        return None if self.total is None else max(0, self.total - self.used - self.context)


def workspace_bytes(gfx: str, matrix: Matrix | None = None) -> int:
    """Bytes of BLAS scratch in each of the two threads (forward, backward); `matrix` says where hipBLASLt is the default."""
    if gfx.startswith("sm_9"):
        return 33 * MIB  # cuBLAS 32 MiB on Hopper, cuBLASLt 1 MiB
    large = gfx.startswith(("gfx94", "gfx95"))
    lt = matrix is not None and gfx in matrix.fact("feature-hipblaslt-default-2.11").gfx
    return (128 if large else 32) * MIB + (76 * MIB if lt else 0)


def declare_card(gfx: str, vram: int | None, matrix: Matrix, product: str = "") -> Card:
    """A declared GPU with `vram` bytes of memory; without `vram`, with the only size that the catalog has for the product or the
    target, else unknown."""
    target = matrix.gfx.get(gfx)
    sizes = target.sizes(product) if target else []
    kind = product or gfx
    notes = []
    if vram is None and len(sizes) == 1:
        vram = int(sizes[0] * GIB)
        notes.append(f"{sizes[0]:g} GiB: the only size of {kind} in the catalog")
    elif vram is None and sizes:
        notes.append(f"{kind} comes with {' or '.join(f'{s:g}' for s in sizes)} GiB: choose with --vram")
    name = product or (target.codename if target else "")
    empty = "assumed to be unused: no display and no other program on it"
    return Card(gfx, name, vram, 0, CONTEXT, workspace_bytes(gfx, matrix), notes=(*notes, empty))


def measured_card(gfx: str, name: str, total: int, context: int, matrix: Matrix) -> Card:
    """The GPU that a measurement ran on; its context is what was in use beside torch's allocator."""
    return Card(
        gfx,
        name,
        total,
        0,
        context,
        workspace_bytes(gfx, matrix),
        notes=("the runtime's share is measured, including whatever else is on the GPU",),
    )


def list_cards(snapshot: Snapshot, matrix: Matrix) -> list[Card]:
    """The AMD GPUs of this machine to train on, with a note on one that is hidden from this shell."""
    return [_read_card(gpu, matrix) for gpu in choosable_gpus(snapshot)]


_HIDDEN = "this GPU is hidden from this shell: rocm-doctor check says by what"


def _read_card(gpu: Gpu, matrix: Matrix) -> Card:
    gfx, name = gpu.get("gfx").value, gpu.get("marketing_name").value
    total, notes = _total(gpu)
    used = _number(gpu, "vram_used_bytes")
    notes.append(
        "memory used by other processes is not known"
        if used is None
        else f"{used / GIB:.1f} GiB used by other processes now (including a display)"
    )
    notes += [_HIDDEN] if gpu.get("visible").value is False else []
    gfx = gfx if isinstance(gfx, str) else ""
    return Card(
        gfx, name if isinstance(name, str) else "", total, used or 0, CONTEXT, workspace_bytes(gfx, matrix), notes=tuple(notes)
    )


def _total(gpu: Gpu) -> tuple[int | None, list[str]]:
    """(bytes, notes) of what the kernel tells HIP: VRAM, and on an APU the carve-out or, with `apu_prefer_gtt`, the system memory
    that the driver maps. None if it was not read."""
    vram, gtt, carveout = (_number(gpu, key) for key in ("vram_bytes", "gtt_bytes", "carveout_bytes"))
    if gpu.get("is_apu").value is not True:
        return vram, []
    if vram is None:
        return carveout, ["an APU: the limit is the carve-out, which the firmware sets"]
    if vram == carveout:
        return vram, [f"an APU: {vram / GIB:.1f} GiB are the carve-out, which the firmware sets"]
    if gtt is None:
        return vram, [f"an APU: the runtime offers {vram / GIB:.1f} GiB"]
    return vram, [f"an APU: {vram / GIB:.1f} GiB of system memory are mapped for the GPU; ttm.pages_limit sets the limit"]


def _number(gpu: Gpu, key: str) -> int | None:
    value = gpu.get(key).value
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
