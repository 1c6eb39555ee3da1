"""Packages and images that are published with CUDA code only, in an environment for AMD."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import is_rebuild, meant, sources
from rocm_doctor.lint.rules.torch_state import is_bare, last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class CudaOnly(msgspec.Struct, frozen=True):
    """A package of catalog/cuda_only.yaml. `way`: how to have it on ROCm; empty where there is none. `through`: packages that require it.
    `wheels`: what its wheels hold. `unless`: how packages begin that bring code for AMD GPUs. `alone`: judged where no torch is installed.
    `switch`: the variable that makes it build for ROCm, where the package index has its source only.
    """

    name: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    way: str = ""
    through: tuple[str, ...] = ()
    wheels: str = "CUDA"
    unless: tuple[str, ...] = ()
    alone: bool = False
    switch: str = ""


def cuda_only_packages(matrix: Matrix) -> dict[str, CudaOnly]:
    """The packages of the catalog by name."""
    return matrix.named("cuda_only", CudaOnly)


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
    through = {name: package for package in known.values() for name in package.through}
    state = last_state(environment, matrix, target)
    said = state[2].place if state and state[2].build == "cuda" else None  # that it brings the CUDA torch is said
    for step in environment.steps:
        for r in step.requirements if step.tool != "lock" else ():
            names = (*(f"{r.name}[{extra}]" for extra in r.extras), r.name)
            package = next((known[name] for name in names if name in known), None if step.no_deps else through.get(r.name))
            if (
                package is None
                or r.place == said
                or r.url
                or is_rebuild(r)
                or not meant(r, target)
                or _from_elsewhere(step, r.name, target)
                or (package.alone and (state is not None or r.extras or _may_have_torch(environment)))
                or _is_served(package, environment)
                or _is_switched(package, step, environment)
            ):
                continue
            yield _finding(environment, target, matrix, r, package)


def _may_have_torch(environment: Environment) -> bool:
    """True if not all that is in an environment is known: an image of others, or a list that is not read."""
    strange = environment.image is not None and not is_bare(environment.image.value)
    return strange or bool(environment.unresolved) or any(step.opaque for step in environment.steps)


def _is_served(package: CudaOnly, environment: Environment) -> bool:
    """True if the environment has another build of the package, or what brings code for AMD GPUs beside it."""
    image = environment.image.value.lower() if environment.image else ""
    every = [r for step in environment.steps for r in step.requirements]
    built = any(r.url or is_rebuild(r) for r in every if r.name == package.name)
    unnamed = bool(package.through) and any(step.opaque for step in environment.steps)
    return built or unnamed or package.name in image or any(r.name.startswith(package.unless or ("\0",)) for r in every)


def _is_switched(package: CudaOnly, step: Step, environment: Environment) -> bool:
    """True if what a package is built for is chosen by its variable, or a channel of conda has it built."""
    set_ = any(s.name == package.switch for s in environment.variables) or package.switch in step.place.quote
    return bool(package.switch) and (set_ or step.tool == "conda")


def _finding(environment: Environment, target: Target, matrix: Matrix, r: Requirement, package: CudaOnly) -> Finding:
    by = f"{r.name} requires {package.name}, which" if r.name in package.through else package.name
    wheels = f"has {package.wheels} wheels only"
    cause = f"The wheels of {package.name} on the package index hold no code for AMD GPUs."
    if package.switch:
        wheels = f"is built for CUDA without {package.switch}=1"
        cause = (
            f"The package index has the source of {package.name} only, which needs CUDA to build unless {package.switch} is set."
        )
    return found(
        matrix,
        "version.package-mismatch",
        environment,
        target,
        [r.place],
        severity="warning",
        row="",
        title=f"{by} {wheels}",
        cause=cause,
        advice=f"On ROCm: {package.way}." if package.way else f"Take {package.name} out of the environment for AMD.",
        commands=(),
        sources=package.sources,
    )


class CudaImage(msgspec.Struct, frozen=True):
    """An image of catalog/images.yaml. `amd`: words of its tags that AMD GPUs run; `way`: the image for them; `holds`: what the other tags have."""

    name: str
    amd: tuple[str, ...]
    way: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    holds: str = "a CUDA build"


def cuda_images(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A container that gets AMD GPUs and runs an image that is known to hold CUDA builds."""
    if environment.purpose.kind != "amd":
        return
    used = [(c.image, c.place) for c in environment.containers if any("/dev/kfd" in d for d in c.devices)]
    used += [(environment.image.value, environment.image.place)] if environment.image and environment.sort == "image" else []
    for image, place in used:
        name, _, tag = image.removeprefix("docker.io/").partition("@")[0].partition(":")
        one = next((one for one in matrix.section("images", CudaImage) if one.name == name.lower()), None)
        if one and "$" not in image and not any(word in tag for word in one.amd):
            yield found(
                matrix,
                "version.torch-not-rocm",
                environment,
                target,
                [place],
                severity="warning",
                row="",
                title=f"the image {image} holds {one.holds}",
                cause=f"Only tags of {one.name} with {' or '.join(one.amd)} use an AMD GPU.",
                advice=f"Take {one.way}.",
                commands=(),
                sources=one.sources,
            )
