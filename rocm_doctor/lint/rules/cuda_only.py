"""Packages whose published wheels hold CUDA code only, in an environment for AMD."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Step, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import is_rebuild, meant, sources
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class CudaOnly(msgspec.Struct, frozen=True):
    """A package of catalog/cuda_only.yaml. `way`: how to have it on ROCm; empty where there is none."""

    name: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    way: str = ""


def cuda_only_packages(matrix: Matrix) -> dict[str, CudaOnly]:
    """The packages of the catalog by name."""
    return {p.name: p for p in msgspec.json.decode(matrix.raw.get("cuda_only", b"[]"), type=tuple[CudaOnly, ...])}


def _from_elsewhere(step: Step, name: str, target: Target) -> bool:
    """True if an index is asked that may hold other wheels than the package index does."""
    asked, _ = sources(step, name, target)
    return any(
        source.build == "unknown" or (source.build == "rocm" and "pytorch.org" not in str(source.origin)) for source in asked
    )


def cuda_only(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A package that brings CUDA code into an environment that is for AMD."""
    if environment.purpose.kind != "amd":
        return
    known = cuda_only_packages(matrix)
    state = last_state(environment, matrix, target)
    said = state[2].place if state and state[2].build == "cuda" else None  # that it brings the CUDA torch is said
    for step in environment.steps:
        for r in step.requirements if step.tool != "lock" else ():
            names = (r.name, *(f"{r.name}[{extra}]" for extra in r.extras))
            package = next((known[name] for name in names if name in known), None)
            if (
                package is None
                or r.place == said
                or r.url
                or is_rebuild(r)
                or not meant(r, target)
                or _from_elsewhere(step, r.name, target)
            ):
                continue
            yield found(
                matrix,
                "version.package-mismatch",
                environment,
                target,
                [r.place],
                severity="warning",
                row="",
                title=f"{package.name} has CUDA wheels only",
                cause=f"The wheels of {package.name} on the package index hold no code for AMD GPUs.",
                advice=f"On ROCm: {package.way}." if package.way else f"Take {package.name} out of the environment for AMD.",
                commands=(),
                sources=package.sources,
            )
