"""A GPU whose target contradicts its name: an override that is still set, where no PCI id shows it."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Snapshot
from rocm_doctor.rules.findings import finding, gpu_subject
from rocm_doctor.rules.override import NAME

_UNSET = (f"unset {NAME}", "grep -rs HSA_OVERRIDE ~/.bashrc ~/.profile /etc/environment /etc/profile.d")


def override_hides_gpu(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`arch.override-wrong` if a tool prints a target of another ISA beside the name of a GPU that has a single target."""
    for number, gpu in enumerate(snapshot.gpus):
        chip = _named_target(gpu, matrix)
        if chip:
            yield finding(
                matrix,
                "arch.override-wrong",
                title=f"{gpu.get('marketing_name').value} ({chip}) is reported as {gpu.get('gfx').value}",
                cause="Only HSA_OVERRIDE_GFX_VERSION makes a GPU report the target of another instruction set, whose code fails on it.",
                evidence=(*gpu.get("gfx").readings[:1], *gpu.get("marketing_name").readings[:1]),
                confidence="medium",
                subject=gpu_subject(gpu, number),
                commands=_UNSET,
            )


def _named_target(gpu: Gpu, matrix: Matrix) -> str:
    """The target that the GPU's name means, if the printed one has another generic ISA; else None."""
    gfx, name = gpu.get("gfx").value, gpu.get("marketing_name").value
    if not isinstance(gfx, str) or not isinstance(name, str) or gfx not in matrix.gfx:
        return ""
    meant = gpu_names(matrix).of_name(name)
    other = len(meant) == 1 and meant[0] in matrix.gfx and matrix.gfx[meant[0]].generic != matrix.gfx[gfx].generic
    return meant[0] if other else ""
