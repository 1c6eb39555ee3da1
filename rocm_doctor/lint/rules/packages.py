"""Packages that have no code for AMD GPUs, that pip does not find, or that are other projects."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint import catalog
from rocm_doctor.lint.catalog import CudaOnly, OtherSystem
from rocm_doctor.lint.model import Install, Problem, Requirement
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix

_PYPI = ("pypi", "none")


def _requests(case: LintCase) -> Iterator[tuple[Install, Requirement]]:
    """(installation, requirement) for each package that is asked for by name, if its marker holds on the target."""
    for step in case.environment.installs:
        for r in step.requirements:
            if catalog.applies(r.marker, case.target):
                yield step, r


def _is_public(step: Install, name: str, matrix: Matrix) -> bool:
    """True if a package comes from the package index: PyTorch's own indexes hold the packages of catalog/indexes.yaml alone."""
    indexes = [i for i in step.indexes if not i.packages or name in i.packages]
    pytorch = _torch_index(matrix)
    others = {i.url for i in indexes if pytorch and name not in pytorch.holds and "://download.pytorch.org/whl" in i.url}
    return all(catalog.classify_index(i).vendor in _PYPI for i in indexes if i.url not in others)


def cuda_only(case: LintCase) -> Iterator[Problem]:
    """`version.package-mismatch` for a package whose wheels on the package index hold CUDA code."""
    packages = {entry.name: entry for entry in case.matrix.section("cuda_only", CudaOnly)}
    replacing = catalog.replacing_torch(case.matrix)
    names = {r.name for r in case.environment.requirements}
    for step, r in _requests(case):
        entry = next((packages[n] for n in (*(f"{r.name}[{e}]" for e in r.extras), r.name) if n in packages), None)
        if case.environment.image and r.name in case.environment.image.name:
            continue  # the image has its own build
        if entry is None or r.url or "+" in r.specifier or not (entry.framework or _is_public(step, r.name, case.matrix)):
            continue
        if entry.alone and (case.torch is not None or r.extras != ()) and r.name == entry.name:
            continue  # beside a torch it is a helper on the CPU
        if not (case.is_amd or case.audience == "main" or r.name in replacing):
            continue
        if isinstance(case.torch, Torch) and case.torch.place == r.place:
            continue  # that it brings the CUDA torch is said
        if any(n.startswith(entry.unless) for n in names if entry.unless) or any(
            v.name == entry.switch for v in case.environment.variables
        ):
            continue
        yield case.problem(
            "version.package-mismatch", f"{r.name} has {entry.wheels} wheels only",
            f"Its wheels on the package index hold no code for AMD GPUs.{f' On ROCm: {entry.way}.' if entry.way else ''}", (r.place,),
            sources=entry.sources, grade=entry.grade,
            effect="stops" if r.name in replacing or (entry.framework and not _has_rocm_torch(case)) else "harms",  # what trains is for CUDA
            is_literal=_is_certain(step, case),
        )  # fmt: skip


def _has_rocm_torch(case: LintCase) -> bool:
    """True for an environment that may train with torch instead."""
    return isinstance(case.torch, Torch) and case.torch.vendor == "rocm"


def _is_certain(step: Install, case: LintCase) -> bool:
    """True if nothing unread comes before an installation, and the image is known to hold no more than torch."""
    environment = case.environment
    is_bare = case.image.torch == "none" or (environment.image is not None and "torch" in environment.image.name)
    return is_bare and environment.is_certain_before(step)


def not_for_linux(case: LintCase) -> Iterator[Problem]:
    """A name that pip does not find on Linux, or that is another project."""
    if not case.is_amd or case.target.os not in ("linux", "wsl"):
        return
    packages = {entry.name: entry for entry in case.matrix.section("other_systems", OtherSystem)}
    requests = list(_requests(case))
    only = [r for _, r in requests if (entry := packages.get(r.name)) and entry.systems and "Linux" not in entry.systems]
    if len(only) > 1:
        return  # a file for another system
    for step, r in requests:
        entry = packages.get(r.name)
        if entry is None or r.url or not _is_public(step, r.name, case.matrix):
            continue
        where = " and ".join(entry.systems)
        title = f"{r.name} has wheels for {where} only" if where else f"the package index has no {r.name}"
        title = f"{r.name} on the package index is {entry.other}" if entry.other else title
        cause = f"{'It is another project' if entry.other else 'pip stops there'}.{f' Take {entry.way}.' if entry.way else ''}"
        yield case.problem(
            "version.wheel-missing", title, cause, (r.place,), sources=entry.sources, grade=entry.grade,
        )  # fmt: skip


class _HeldIndex(msgspec.Struct, frozen=True):
    """An index of `held` in catalog/indexes.yaml: the names that it holds."""

    name: str
    holds: frozenset[str]
    sources: tuple[str, ...]


def _torch_index(matrix: Matrix) -> _HeldIndex | None:
    return next((index for index in matrix.section("held", _HeldIndex) if index.name == "download.pytorch.org/whl"), None)


_OF_TORCH = regex(r"(?:py)?torch|triton|nvidia|cuda|rocm|amd|hip|intel|onemkl|fbgemm")


def not_on_index(case: LintCase) -> Iterator[Problem]:
    """Packages that are asked of PyTorch's index alone, which holds torch and what it requires."""
    index = _torch_index(case.matrix)
    if index is None or not case.is_amd:
        return
    there = {"pip", "setuptools", "wheel", "uv"}
    for step in case.environment.installs:
        default = [i for i in step.indexes if i.role == "default" and not i.packages]
        is_alone = all(i.role == "default" for i in step.indexes) and "download.pytorch.org/whl" in (
            default[-1].url if default else ""
        )
        requests = [r for r in step.requirements if r.name not in there]
        missing = [r for r in requests if r.name not in index.holds and not _OF_TORCH.match(r.name) and not r.url]
        if is_alone and missing:
            names = ", ".join(r.name for r in missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            yield case.problem(
                "version.wheel-missing", f"{names}: not on {default[-1].url}, the only index that is asked",
                "PyTorch's index holds torch and what torch requires; `--index-url` takes the place of the package index.",
                (missing[0].place, default[-1].place), is_literal=case.environment.is_certain_before(step) and case.image.torch == "none", sources=index.sources,
            )  # fmt: skip
        there |= {r.name for r in step.requirements}
