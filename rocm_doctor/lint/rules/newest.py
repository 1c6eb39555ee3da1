"""Libraries whose newest release, which pip takes for an open range, does not work with the torch that is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_doctor.lint.declared import Environment, Requirement, Target
from rocm_doctor.lint.rules.companions import own_or_asked
from rocm_doctor.lint.rules.findings import found, required
from rocm_doctor.lint.rules.indexes import admits, is_rebuild, meant, pinned
from rocm_doctor.lint.rules.requires_torch import as_release, requires_torch
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

if TYPE_CHECKING:
    from rocm_doctor.plan.catalog import Package, Release

# Libraries that bound transformers or each other from above: what pip takes beside a pinned one of them is not the newest.
_BOUND = frozenset((
    "accelerate", "autoawq", "auto-gptq", "axolotl", "datasets", "diffusers", "gptqmodel", "huggingface-hub", "llamafactory", "llmcompressor", "lmdeploy",
    "optimum", "peft", "safetensors", "sentence-transformers", "sglang", "tokenizers", "trl", "unsloth", "unsloth-zoo", "vllm", "whisperx",
))  # fmt: skip


def newest(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A library that switches PyTorch off below the release that it was made for, and pulls none in."""
    state = last_state(environment, matrix, target)
    known_python = own_or_asked(environment, target)
    python = known_python or _OLDEST
    if state is None or state[2].build != "rocm" or not state[2].version or environment.purpose.kind != "amd":
        return
    known, torch = requires_torch(matrix), state[2]
    heads = {p.repository.lower(): name for name, p in _packages(matrix).items() if p.repository}
    asked = [
        as_release(r, heads) for step in environment.steps for r in (*step.requirements, *step.constraints) if meant(r, target)
    ]
    if environment.unresolved or any(r.name in _BOUND and not admits(r.spec, _LATER) for r in asked):
        return
    for r in {r.name: r for r in asked if not r.url and not is_rebuild(r)}.values():
        package = None if r.name in known.range | known.exact else _packages(matrix).get(r.name)
        release = _taken(package, r, python) if package else None
        if (
            package
            and release
            and release.torch.startswith(">")
            and "full" in package.train
            and not admits(release.torch, torch.version)
        ):
            yield found(
                matrix,
                "version.package-mismatch",
                environment,
                target,
                [r.place, torch.place],
                row="",
                severity="warning",
                confidence="medium",
                title=f"{r.name} {release.version}{' needs' if known_python or pinned(r.spec) else ' and later need'} torch {release.torch}, and {torch.version} is there",
                cause=f"pip takes the newest {r.name} that is allowed, and it switches PyTorch off below that release.",
                advice=_older(package, r, torch.version, python),
                commands=(),
                sources=package.sources,
            )


_LATER = "9999"
_OLDEST = "3.10"
"""The oldest Python that gets updates: what the newest release for it does not take, none for a later one does."""


def _taken(package: Package, r: Requirement, python: str) -> Release | None:
    """The release that pip takes: the pinned one if it was read, for an open range the newest for that Python."""
    if pinned(r.spec):
        return next((one for one in package.releases if one.version == pinned(r.spec)), None)
    return next((one for one in package.releases if admits(one.python, python)), None) if admits(r.spec, _LATER) else None


def newest_version(r: Requirement, python: str, matrix: Matrix) -> str:
    """The release of a library of the catalog that pip takes for an open range; empty where that is not known."""
    package = _packages(matrix).get(r.name) if python and not pinned(r.spec) and not r.url else None
    release = _taken(package, r, python) if package else None
    return release.version if release else ""


def _older(package: Package, r: Requirement, torch: str, python: str) -> str:
    """The edit that asks for the newest release that takes the torch."""
    fits = (one for one in package.releases if admits(one.torch, torch) and admits(one.python, python) and not one.built)
    one = next(fits, None)
    return required(f"{r.name}=={one.version}", r.place) if one else f"Take a newer torch, or an older {r.name}."


def _packages(matrix: Matrix) -> dict[str, Package]:
    from rocm_doctor.plan.catalog import known

    return known(matrix).packages
