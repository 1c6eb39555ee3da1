"""Indexes of the PyTorch project that do not exist, and packages that a known one does not have."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.advice import on_torch
from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import is_rebuild, known_index, meant, pinned, sources
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

_OF_PYTORCH = regex(r"^(?:https?://download\.pytorch\.org/whl/|torch-backend:)rocm(\d+\.\d+(?:\.\d+)?)/?$")
_INDEXES = "https://pytorch.org/get-started/previous-versions"


def unknown_indexes(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An index of the PyTorch project for a ROCm release that it is not known to build for."""
    for index in {i.url: i for step in environment.steps for i in step.indexes}.values():
        named = _OF_PYTORCH.match(index.url)
        if named and not known_index(matrix, named[1]):
            yield found(
                matrix,
                "version.wheel-missing",
                environment,
                target,
                [index.place],
                severity="warning",
                confidence="medium",
                title=f"rocm{named[1]}: no such index is known to the matrix",
                cause=f"PyTorch's ROCm indexes near it are {_near(matrix, named[1])}. "
                "At an address that does not exist the installer finds no torch.",
                advice=f"Name an index that exists: {_near(matrix, named[1])}.",
                sources=(_INDEXES,),
            )


_OF_WINDOWS = regex(r"repo\.radeon\.com/rocm/windows/")


def windows_indexes(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """AMD's listing of wheels for Windows, asked on Linux."""
    asked = {i.url: i for step in environment.steps for i in step.indexes}
    theirs = [index for url, index in asked.items() if _OF_WINDOWS.search(url)]
    if target.platform != "linux" or any("rocm" in url and asked[url] not in theirs for url in asked):
        return
    for index in theirs:
        yield found(
            matrix,
            "version.wheel-missing",
            environment,
            target,
            [index.place],
            row="",
            severity="warning",
            title=f"{index.url} has wheels for Windows",
            cause="AMD keeps the wheels for Linux and for Windows in folders of their own.",
            advice="Take those for Linux from https://repo.radeon.com/rocm/manylinux/.",
            sources=("https://repo.radeon.com/rocm/windows/", "https://repo.radeon.com/rocm/manylinux/"),
        )


_NIGHTLY_PIN = regex(r"\.dev(\d{4})(\d{2})(\d{2})")
_KEPT = 120
"""Days after which a nightly build is taken to be gone: 60 by one source, three months by another."""
_NIGHTLY_SOURCES = ("https://github.com/replicate/monobase/pull/17", "https://github.com/vllm-project/vllm/pull/18351")


def gone_nightlies(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A nightly build that is pinned by its day, on an index that keeps them for some weeks."""
    for step in environment.steps:
        nightly = next((index for index in step.indexes if "/nightly" in index.url), None)
        for r in step.requirements if nightly else ():
            day = _NIGHTLY_PIN.search(pinned(r.spec))
            if day and nightly and not r.url and meant(r, target) and _age(day, matrix) > _KEPT:
                yield found(
                    matrix,
                    "version.wheel-missing",
                    environment,
                    target,
                    [r.place, nightly.place],
                    row="",
                    severity="warning",
                    confidence="medium",
                    title=f"the nightly build of {'-'.join(day.groups())} of {r.name} is no longer on its index",
                    cause="PyTorch's index keeps nightly builds for two to three months.",
                    advice=_instead(environment, step, target, matrix),
                    sources=_NIGHTLY_SOURCES,
                )


_DATED = regex(r"(?:\.dev|(?<=\d)a)(20\d{2})(\d{2})(\d{2})(?!\d)")
_OF_NIGHTLIES = regex(r"nightl|v2-staging")


def is_of_nightlies(url: str) -> bool:
    """True for an index of nightly builds."""
    return _OF_NIGHTLIES.search(url) is not None


def stale_nightly(environment: Environment, target: Target, matrix: Matrix) -> Requirement | None:
    """A torch that is pinned by the day of a nightly build, or named by its address, and older than those that an index is known to keep.

    How long AMD keeps its own is not said anywhere.
    """
    for step in environment.steps:
        nightly = any(_OF_NIGHTLIES.search(index.url) for index in step.indexes)
        for r in step.requirements:
            day = _DATED.search(unquote(r.url) if r.url else r.spec) if r.name == "torch" and meant(r, target) else None
            if day and (_OF_NIGHTLIES.search(r.url) if r.url else nightly) and _age(day, matrix) > _KEPT:
                return r
    return None


def _instead(environment: Environment, step: Step, target: Target, matrix: Matrix) -> str:
    state = last_state(environment, matrix, target)
    if state is None or environment.purpose.kind != "amd":
        return "Pin a release, or name the wheel by its address."
    return on_torch(environment, target, matrix, step, state[2])


def _age(day: re.Match[str], matrix: Matrix) -> int:
    """Days from a build to the day of the catalog; 0 for anything else."""
    try:
        built, now = datetime.date(*map(int, day.groups())), datetime.date(*map(int, matrix.version.split(".")[:3]))
    except (ValueError, TypeError):
        return 0
    return (now - built).days


def _near(matrix: Matrix, rocm: str) -> str:
    """The known indexes on both sides of a release."""
    names = {b.index.rsplit("/rocm", 1)[-1] for b in matrix.torch if "/rocm" in b.index}
    known = sorted((n for n in names if versions.parse(n)), key=versions.sort_key)
    older = [n for n in known if versions.sort_key(n) < versions.sort_key(rocm)][-2:]
    newer = [n for n in known if versions.sort_key(n) > versions.sort_key(rocm)][:2]
    return ", ".join(f"rocm{n}" for n in older + newer)


def xformers(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A pinned xformers that PyTorch's ROCm index, the only one asked, does not have."""
    for step in environment.steps:
        for r in step.requirements:
            if r.name == "xformers" and meant(r, target) and not r.url and not is_rebuild(r):
                yield from _not_there(environment, target, matrix, step, r)


def _not_there(environment: Environment, target: Target, matrix: Matrix, step: Step, r: Requirement) -> Iterator[Finding]:
    asked, first = sources(step, r.name, target)
    index = asked[0].origin
    named = _OF_PYTORCH.match(index.url) if index and (first or len(asked) == 1) else None
    version = pinned(r.spec)
    if index is None or named is None or not version:
        return
    known: list[dict[str, Any]] = matrix.plain("xformers") or []
    later = bool(known) and versions.sort_key(version) > versions.sort_key(known[-1]["versions"].rpartition("<")[2])
    entry: dict[str, Any] = next((one for one in known if versions.contains(one["versions"], version)), {})
    for_ = entry.get("rocm", ())
    if known and not later and named[1] not in for_:
        made = f"was built for ROCm {' and '.join(for_)}" if for_ else "has no ROCm wheel"
        yield found(
            matrix,
            "lib.xformers",
            environment,
            target,
            [r.place, index.place],
            severity="warning",
            confidence="medium",
            title=f"xformers {version} is not known on the rocm{named[1]} index",
            cause=f"xformers {version} {made}. The wheel on the default index is for CUDA.",
            advice="Leave xformers out and use PyTorch's scaled_dot_product_attention, or take the xformers of this index.",
            sources=tuple((entry or known[-1])["sources"]),
        )
