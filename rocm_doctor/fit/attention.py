"""Fused attention kernels of torch for a GPU, from the catalog's `attention` section."""

from __future__ import annotations

from rocm_doctor.fit.job import CUDA, MATH, Kernels
from rocm_doctor.matrix import Matrix
from rocm_doctor.versions import contains

FLAG = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"


def kernels_of(gfx: str, torch: str | None, experimental: bool, matrix: Matrix) -> tuple[Kernels, str]:
    """The kernels and the reason in words. Without a torch version the newest entry is assumed, and the reason states it."""
    if gfx.startswith("sm_") or gfx == "cuda":
        return CUDA, "NVIDIA: flash for half precision, memory-efficient for the rest"
    row = next((row for row in reversed(matrix.plain("attention") or []) if torch is None or contains(row["torch"], torch)), None)
    if row is None:
        return MATH, f"no entry for torch {torch}: the math path is assumed"
    about = f"torch {torch}" if torch else f"torch {row['torch']} (assumed: none was given or found; set it with --torch)"
    if gfx in row["stable"]:
        return _fused_kernels(row["grouped"]), f"{about} has AOTriton's flash and memory-efficient attention for {gfx}"
    if gfx in row["experimental"]:
        if experimental:
            return _fused_kernels(row["grouped"]), f"{about} has AOTriton's attention for {gfx} behind {FLAG}=1, which is set"
        return MATH, f"{about} takes the math path on {gfx}, which keeps all scores; {FLAG}=1 would turn fused attention on"
    return MATH, f"{about} has no fused attention for {gfx}: the math path keeps a score for every pair of tokens"


def _fused_kernels(grouped: bool) -> Kernels:
    return Kernels(flash=True, efficient=True, flash_gqa=grouped, efficient_gqa=False, hip=True)
