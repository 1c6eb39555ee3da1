"""Packages that pip builds from source with torch, in an environment of their own that has none: catalog/source_builds.yaml."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import of_pytorch
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import is_rebuild, meant, pinned, sources
from rocm_doctor.lint.rules.requires_torch import LATER, is_open
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade

_NEWS = "https://pip.pypa.io/en/stable/news/#v25-3"


class _Source(msgspec.Struct, frozen=True):
    """A package that the package index has as source only. `imports`: the releases whose build imports torch and does not ask for it."""

    name: str
    imports: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def built_without_torch(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A package whose build needs torch, in an environment for AMD that has pip build it in isolation."""
    known = matrix.named("source_builds", _Source)
    if environment.purpose.kind != "amd" or environment.sort not in ("image", "script", "requirements"):
        return
    asked = [
        (known[r.name], r)
        for step in environment.steps
        if step.tool in ("pip", "uv") and step.isolated and not step.guarded
        for r in step.requirements
        if r.name in known and meant(r, target) and _is_of_pypi(step, r, target) and _is_one(known[r.name].imports, r.spec)
    ]
    if not asked:
        return
    one, r = asked[0]
    yield found(
        matrix,
        "version.package-mismatch",
        environment,
        target,
        [r.place for _, r in asked],
        row="",
        severity="warning",  # older releases of pip build in place where setuptools and wheel are there
        confidence="medium",
        title=f"pip cannot build {', '.join(dict.fromkeys(r.name for _, r in asked))}: its build imports torch and has none",
        cause=f"The package index has the source of {one.name} only, and pip (from 25.3 on in any case) builds it in an environment of its own, without"
        " the torch that is installed.",
        advice=f"Install {r.name} by a command of its own after torch, with --no-build-isolation.",
        commands=(),
        sources=(*one.sources, _NEWS),
    )


def _is_one(imports: str, spec: str) -> bool:
    """True if the release that pip takes is one of those."""
    version = pinned(spec) or (LATER if is_open(spec) else "")
    return bool(version) and versions.contains(imports, version) is True


def _is_of_pypi(step: Step, r: Requirement, target: Target) -> bool:
    asked, _ = sources(step, r.name, target)
    return not r.url and not is_rebuild(r) and all(s.public or of_pytorch(s.origin) for s in asked)
