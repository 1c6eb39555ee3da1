"""Base images: is the image for this GPU, and the ROCm in it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Target
from rocm_doctor.lint.rules.built_for import lists, targets_of, without_override
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import Torch
from rocm_doctor.lint.rules.torch_state import image_facts, image_parts, last_state, of_image, system_rocm
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Support, TorchBuild
from rocm_doctor.model import Finding
from rocm_doctor.rules.build import build_of

HAS_ROCM = regex(r"rocm|amd|gfx\d|hip\b|radeon|vulkan", re.I)
"""In the name of an image: it says that it is for AMD GPUs."""


def base_image(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A base image that is for NVIDIA GPUs."""
    if environment.image is None or not environment.image.value or system_rocm(environment):
        return
    repo, _ = image_parts(environment.image.value)
    state = last_state(environment, matrix, target)
    brings = of_image(environment.image)
    if state and state[0] is not None and state[2].build == "rocm" and "radeon.com" not in _source(state[2]):
        return  # PyTorch's ROCm wheels have the HIP runtime with them, those of AMD's folders need the system's
    if (
        repo.startswith("nvidia/")
        or "nvcr.io" in environment.image.value
        or (brings and brings.build == "cuda" and state and state[2].build != "rocm")
    ):
        yield found(
            matrix,
            "version.torch-not-rocm",
            environment,
            target,
            [environment.image.place],
            row="",
            title=f"the base image {environment.image.value} is for NVIDIA GPUs",
            cause="It brings CUDA libraries and no HIP runtime.",
            advice="Start from a rocm/ image whose tag names your ROCm release.",
        )


def _source(torch: Torch) -> str:
    return torch.origin.url if torch.origin else torch.place.quote


def dropped(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm release, of the base image or installed for the system, that no longer serves the target."""
    held = _system(environment, target, matrix)
    word = last_word(held.rocm, target, matrix) if held else None
    if held is not None and word is not None and word.state in _AGAINST:
        yield found(
            matrix,
            "arch.dropped-by-rocm",
            environment,
            target,
            [held.place],
            severity="warning",
            confidence="medium",
            title=f"{held.words}, which no longer serves {target.gpu}",
            cause=f"ROCm {word.since}: {word.words}",
            sources=word.sources,
            grade=word.grade,
            advice=f"Take a ROCm release that lists {target.gpu}.",
        )


class _Held(NamedTuple):
    """A ROCm release that an environment uses, where it is named, and how a finding calls it."""

    rocm: str
    place: Place
    words: str


def _system(environment: Environment, target: Target, matrix: Matrix) -> _Held | None:
    """The ROCm of the system or the base image; None where there is none, or where torch loads the ROCm of its own wheel."""
    if system := system_rocm(environment):
        return _Held(system.value, system.place, f"ROCm {system.value} is installed")
    return None if _brings_rocm(environment, target, matrix) else _of_base(environment, matrix)


def _of_base(environment: Environment, matrix: Matrix) -> _Held | None:
    """The ROCm of the base image."""
    if environment.image is None:
        return None
    release = release_of(environment.image.value, matrix)
    return _Held(release, environment.image.place, f"the base image has ROCm {release}") if release else None


def older_than_gpu(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm release from before the first one with code for the target: whatever is built with it has none."""
    built = environment.sort == "image" and environment.compiles
    held = _system(environment, target, matrix) or (_of_base(environment, matrix) if built else None)
    if held is None:
        return
    first, own = _first_release(target, matrix), _first_of_its_own(target, matrix)
    if not own or versions.sort_key(held.rocm) >= versions.sort_key(first) or not _was_missing(held.rocm, first, target, matrix):
        return
    if any(covers(targets_of(s), target.gpu) for s in lists(environment)):
        return  # whoever builds for the GPU has a compiler that knows it
    state = last_state(environment, matrix, target)
    if not built and state and (build := build_of(matrix, state[2].local)) and build.gfx:
        return  # which GPUs that torch has code for is judged by itself
    by_image = held.place == getattr(environment.image, "place", None)
    newer = (
        f"Take an image with ROCm {_first_of_amd(target, matrix) or own} or newer."
        if by_image
        else f"Install ROCm {own} or newer."
    )
    yield found(
        matrix,
        "arch.not-in-build",
        environment,
        target,
        [held.place],
        row="",
        severity="error" if state and state[0] is None else "warning",
        title=f"{held.words}, from before there was code for {target.gpu}",
        cause=f"No build of PyTorch and no list of AMD's for so old a ROCm has code for {target.gpu}: kernels made with it end in `invalid device function`.",
        advice=f"{newer} {without_override(environment)}".rstrip(),
        sources=tuple(dict.fromkeys(s for b in _serving(target, matrix) if b.rocm in (own, first) for s in b.sources))[:2],
    )


def _serving(target: Target, matrix: Matrix) -> list[TorchBuild]:
    """The builds of torch with code that the target runs: its own, or that of a relative by HSA_OVERRIDE_GFX_VERSION."""
    chip = matrix.gfx.get(target.gpu)
    own = target.gpu.removeprefix("gfx")[:-2] + "."
    values = [None, *(o.value for o in chip.overrides if o.verdict != "harmful" or o.value.startswith(own))] if chip else [None]
    return [b for b in matrix.torch if versions.parse(b.rocm) and any(covers(b.gfx, target.gpu, value) for value in values)]


def _first_release(target: Target, matrix: Matrix) -> str:
    """The first ROCm release for which a torch was built for the target, or which a statement says to run it."""
    stated = [s.since for s in matrix.support if target.gpu in s.gfx and s.os == "linux" and s.state in _FOR]
    every = [r for r in (*(b.rocm for b in _serving(target, matrix)), *stated) if versions.parse(r)]
    return min(every, key=versions.sort_key, default="")


def _was_missing(rocm: str, first: str, target: Target, matrix: Matrix) -> bool:
    """True if a torch of this ROCm, or of one between it and the first that serves the target, has no code for it: before the oldest
    release that the catalog has, nothing is known.
    """
    between = (b for b in matrix.torch if b.gfx and versions.parse(b.rocm) and versions.contains(f">={rocm},<{first}", b.rocm))
    return any(not covers(b.gfx, target.gpu) for b in between)


def _first_of_its_own(target: Target, matrix: Matrix) -> str:
    """The first ROCm release with code for the target itself: whoever takes an older one needs an override, if one helps at all."""
    every = [b.rocm for b in matrix.torch if covers(b.gfx, target.gpu)] + [_first_of_amd(target, matrix)]
    return min((r for r in every if versions.parse(r)), key=versions.sort_key, default="")


def _first_of_amd(target: Target, matrix: Matrix) -> str:
    """The first ROCm release that a statement of AMD's has for the target: an image of an older one has a torch from before that."""
    stated = [s.since for s in matrix.support if target.gpu in s.gfx and s.os == "linux" and s.state in _BY_AMD]
    return min((r for r in stated if versions.parse(r)), key=versions.sort_key, default="")


def _brings_rocm(environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if the torch is a ROCm wheel that a step installs, and nothing is built against the ROCm of the image."""
    state = last_state(environment, matrix, target)
    return bool(state and state[0] and state[2].build == "rocm" and state[2].rocm) and not any(
        "gfx" in s.value for s in environment.variables
    )


# Statements that settle whether a release runs a target; absence from a table (not-listed) settles nothing.
_FOR = ("supported", "deprecated", "works-unofficially", "release-ready", "preview")
_AGAINST = ("dropped", "broken")
# Those of AMD for the target as it is.
_BY_AMD = ("supported", "deprecated", "release-ready", "preview")


def release_of(image: str, matrix: Matrix) -> str:
    """The ROCm release of an image: by its tag; behind `rocm/pytorch:latest` the newest that the catalog has."""
    if named := image_facts(image).get("rocm"):
        return named
    repo, tag = image_parts(image)
    if not repo.startswith("rocm/") or tag not in ("", "latest"):
        return ""
    return max((r.version for r in matrix.rocm if versions.parse(r.version)), key=versions.sort_key, default="")


def last_word(rocm: str, target: Target, matrix: Matrix) -> Support | None:
    """The statement on the target that comes last among those on releases up to this one."""
    said = [s for s in matrix.support if target.gpu in s.gfx and s.os == target.os and s.state in _FOR + _AGAINST]
    so_far = [s for s in said if versions.contains(f"<={rocm}", s.since)]
    return max(so_far, key=lambda s: versions.sort_key(s.since), default=None)
