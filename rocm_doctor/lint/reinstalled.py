"""What a project brings that a script for AMD takes out again and installs anew: the script's end is what its users have."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_doctor.lint.declared import Environment, Target
from rocm_doctor.lint.rules.torch_state import ends_with_rocm
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

_OF_TORCH = ("version.torch-not-rocm", "version.companion-mismatch", "arch.not-in-build")
_PACKAGES = ("torchvision", "torchaudio", "torch")


def is_reinstalled(
    one: Finding, environment: Environment, target: Target, for_amd: Iterable[Environment], matrix: Matrix
) -> bool:
    """True if a script or image for AMD uninstalls the package of a project that a finding is about, and installs it again beside a ROCm torch."""
    if one.id not in _OF_TORCH or environment.sort != "project":
        return False
    package = next((name for name in _PACKAGES if one.title.startswith(f"{name} ")), "torch")
    scripts = (e for e in for_amd if e.sort in ("script", "image") and e.purpose.direct)
    return any(_installs_anew(e, package) and ends_with_rocm(e, target, matrix) for e in scripts)


def _installs_anew(script: Environment, package: str) -> bool:
    removed = False
    for step in script.steps:
        if removed and any(r.name == package for r in step.requirements):
            return True
        # A new virtual environment takes out what the system has, and nothing that a project brought into it.
        removed = removed or (step.tool != "system" and package in step.removed)
    return False
