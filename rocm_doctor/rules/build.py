"""The targets of the installed torch: code objects read from disk, else the printed arch list, else the catalog."""

from __future__ import annotations

from rocm_doctor.binaries.targets import covers
from rocm_doctor.commands import fill
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import TorchBuild
from rocm_doctor.model import Confidence, Fact, Reading, Snapshot
from rocm_doctor.versions import sort_key

_SURE: dict[str, Confidence] = {
    "code.torch": "high",
    "torch.arch_list": "high",
    "torch.device_dists": "high",
    "catalog": "medium",
}


def find_build(matrix: Matrix, version: object) -> TorchBuild | None:
    """The catalog's build of exactly this version, local part included; None without a version (the entry of a stream has none)."""
    return next((b for b in matrix.torch if b.local == version), None) if version else None


def installed_build(snapshot: Snapshot, matrix: Matrix) -> TorchBuild | None:
    """The catalog's entry of the installed build."""
    return find_build(matrix, snapshot.value("torch.version"))


def compiled_targets(snapshot: Snapshot, matrix: Matrix) -> tuple[Fact | None, Confidence]:
    """(fact, confidence): the gfx targets that the installed torch was compiled for, by the best evidence there is. (None, low)
    without any."""
    for name in ("code.torch", "torch.arch_list", "torch.device_dists"):
        fact = snapshot.get(name)
        if isinstance(fact.value, tuple) and fact.value:
            return fact, _SURE[name]
    build = installed_build(snapshot, matrix)
    if build and build.gfx:
        return Fact(build.gfx, (_catalog_reading(build, f"compiled for {', '.join(build.gfx)}"),)), _SURE["catalog"]
    return None, "low"


def blas(snapshot: Snapshot, matrix: Matrix) -> tuple[Fact | None, Confidence]:
    """(fact, confidence): the gfx targets that torch's rocBLAS has kernels for, of its files or else of the catalog. (None, low)
    without either."""
    fact = snapshot.get("code.rocblas")
    if isinstance(fact.value, tuple) and fact.value:
        return fact, "high"
    build = installed_build(snapshot, matrix)
    if build and build.blas:
        return Fact(build.blas, (_catalog_reading(build, f"rocBLAS kernels for {', '.join(build.blas)}"),)), "medium"
    return None, "low"


def holds_code(targets: Fact | None, gfx: str) -> bool | None:
    """True if one of these code objects loads on the GPU; None if unknown."""
    return None if targets is None or not isinstance(targets.value, tuple) else covers(targets.value, gfx)


def usable_builds(gfx: str, matrix: Matrix, python: str = "") -> list[TorchBuild]:
    """Builds of a package index whose code and rocBLAS cover the GPU, newest first; a build whose rocBLAS is not known counts.
    Inferred builds that were never observed come last, as in `plan`."""
    fit = [b for b in matrix.torch if b.index.startswith("http") and gfx in b.gfx and (not b.blas or gfx in b.blas)]
    fit = [b for b in fit if not python or not b.pythons or python in b.pythons]
    return sorted(fit, key=lambda b: (not is_unseen(b), sort_key(b.torch)), reverse=True)


def python_series(snapshot: Snapshot) -> str:
    """The examined Python as builds name it: `3.12`; empty where it is not known."""
    value = snapshot.value("python.version")
    return ".".join(value.split(".")[:2]) if isinstance(value, str) else ""


def is_unseen(build: TorchBuild) -> bool:
    """True for a wheel that was never observed and is not the main build of its release: it is inferred from others."""
    return build.evidence in ("inferred", "build matrix") and not build.primary


def install(build: TorchBuild) -> tuple[str, ...]:
    """The command that installs a build of the catalog with its torchvision and torchaudio; none if a value cannot be quoted
    safely."""
    parts = [("torch", build.torch), ("torchvision", build.torchvision), ("torchaudio", build.torchaudio)]
    pins = " ".join(f"{name}=={{version_{name}}}" for name, version in parts if version)
    versions = {f"version_{name}": version for name, version in parts}
    return fill(f"pip install --force-reinstall {pins} --index-url {{url}}", url=build.index, **versions)


def _catalog_reading(build: TorchBuild, words: str) -> Reading:
    return Reading(
        "matrix",
        f"catalog/torch {build.local}",
        f"{words} ({build.gfx_evidence or build.evidence}; {build.sources[0]})",
        "matrix",
    )
