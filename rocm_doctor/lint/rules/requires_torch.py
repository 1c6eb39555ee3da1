"""Packages that bring torch as a dependency, from catalog/requires_torch.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import Source, of_pytorch
from rocm_doctor.lint.rules.indexes import admits, builds_on, pinned, sources
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Grade


class _Entry(msgspec.Struct, frozen=True):
    """Packages of one source. `exact`: each release requires one version of torch; `range`: several versions will do. `newest`: the
    range that their newest release requires, or `none`. `python`: for which Pythons pip takes that one. `through`: the package by which
    they require it. `repository`: where their source is on GitHub, of which the newest state requires what the newest release does. `pins`: the one
    torch that a release requires, by release."""

    name: str
    torch: Literal["exact", "range"]
    packages: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    newest: str = ""
    python: str = ""
    through: str = ""
    repository: str = ""
    pins: dict[str, str] = {}


NO_TORCH = "none"
LATER = "9999"
"""A release that is yet to come: a range that admits it takes the newest one."""


class Requiring(NamedTuple):
    """Names of packages by what they require, the range that the newest release requires, and for which Pythons pip takes it."""

    exact: frozenset[str]
    range: frozenset[str]
    newest: dict[str, str]
    python: dict[str, str]
    through: dict[str, str]
    repository: dict[str, str]
    pins: dict[str, dict[str, str]]


def requires_torch(matrix: Matrix) -> Requiring:
    """The packages of the catalog that bring torch."""
    return matrix.once(_read)


def _read(matrix: Matrix) -> Requiring:
    entries = matrix.section("requires_torch", _Entry)
    exact, some = (frozenset(name for e in entries if e.torch == kind for name in e.packages) for kind in ("exact", "range"))
    return Requiring(
        exact,
        some,
        {name: e.newest for e in entries if e.newest for name in e.packages},
        {name: e.python for e in entries if e.python for name in e.packages},
        {name: e.through for e in entries if e.through for name in e.packages},
        {e.repository.lower(): e.packages[0] for e in entries if e.repository},
        {name: e.pins for e in entries if e.pins for name in e.packages},
    )


_ADDRESS = regex(r"git\+(?:https|ssh)://(?:git@)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?(?:#.*)?$")


def pinning(requirements: Iterable[Requirement], matrix: Matrix) -> list[tuple[Requirement, str]]:
    """The packages of which a pinned release requires one torch, each with the version of that."""
    pins = requires_torch(matrix).pins
    asked = ((r, pins.get(r.name, {}).get(pinned(r.spec), "")) for r in requirements if not r.url)
    return [(r, torch) for r, torch in asked if torch]


def as_release(r: Requirement, repositories: Mapping[str, str]) -> Requirement:
    """A requirement of a repository's newest state as one of the package that it holds, by `repositories`; any other as it is."""
    address = _ADDRESS.match(r.url)
    package = repositories.get(address[1].lower(), "") if address else ""
    return msgspec.structs.replace(r, name=package, url="") if package else r


COMPANIONS = ("torchvision", "torchaudio")


def is_open(spec: str) -> bool:
    """True if a range admits the newest release: pip takes that one, whatever the lower bound is."""
    return not pinned(spec) and admits(spec, LATER)


def torch_of(r: Requirement, step: Step, matrix: Matrix, target: Target) -> str:
    """The torch that a pinned companion belongs to, or that the newest release of another package requires; empty when not known."""
    known = requires_torch(matrix)
    if is_open(r.spec):
        asked, first = sources(step, r.name, target)
        public = any(source.public for source in (asked[:1] if first else asked))
        return known.newest.get(r.name, "") if public else _on_index(r, asked[0], matrix, target)
    version = pinned(r.spec)
    if own := pinning([r], matrix):
        return f"=={own[0][1]}"
    if not version or r.name not in COMPANIONS:
        return ""
    return next((f"=={b.torch}" for b in matrix.torch if getattr(b, r.name).split("+")[0] == version and b.primary), "")


def _on_index(r: Requirement, source: Source, matrix: Matrix, target: Target) -> str:
    """The torch that the newest torchvision or torchaudio of PyTorch's ROCm index requires; what other indexes have is not known."""
    built = builds_on(matrix, source.rocm, "", target) if source.build == "rocm" and of_pytorch(source.origin) else []
    if not built or r.name not in COMPANIONS:
        return ""
    newest = max((getattr(b, r.name) for b in matrix.torch if b.family == built[0].family), key=versions.sort_key)
    return requires_torch(matrix).newest.get(r.name, "") if getattr(built[0], r.name) == newest else f"=={built[0].torch}"
