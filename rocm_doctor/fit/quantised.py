"""What of a run are kernels of bitsandbytes, and whether its wheels have them for the GPU."""

from __future__ import annotations

import msgspec

from rocm_doctor.fit.job import Job
from rocm_doctor.matrix import Matrix
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.versions import contains, rocm_of_local


class QuantSupport(msgspec.Struct, frozen=True):
    """`missing`: no released wheel has code for the GPU. `words`: for which ROCm they have it, where not for all; else empty, as for a GPU
    that is not in the catalog."""

    missing: bool = False
    words: str = ""


def needed_kernels(job: Job) -> str:
    """What of a run are kernels of bitsandbytes; empty for none."""
    if job.quant_bits:
        return f"{job.quant_bits}-bit layers"
    return f"the optimizer {job.optimizer}" if job.optimizer.startswith("paged") or job.optimizer.endswith("8bit") else ""


def find_support(gfx: str, torch: str | None, matrix: Matrix) -> QuantSupport:
    """The support of a GPU by the releases that go with this torch and its ROCm (None: any), from the catalog's list of their code."""
    package = load_catalog(matrix).packages.get("bitsandbytes")
    if package is None or gfx not in matrix.gfx:
        return QuantSupport()
    releases = [release for release in package.releases if torch is None or contains(release.torch, torch) is not False]
    rocm = ".".join((rocm_of_local(torch or "") or "").split(".")[:2])
    if any(rocm in release.code for release in releases):
        served = any(gfx in release.code.get(rocm, ()) for release in releases)
        return QuantSupport() if served else QuantSupport(True, f"bitsandbytes' wheels for ROCm {rocm} have no code for {gfx}")
    for release in releases:  # newest first
        if having := [hip for hip, targets in release.code.items() if gfx in targets]:
            partial = len(having) < len(release.code)
            return QuantSupport(words=f"its wheels have code for {gfx} for ROCm {', '.join(having)} only" if partial else "")
    return QuantSupport(True, f"bitsandbytes' wheels have no code for {gfx}")
