"""Package indexes, and packages with their releases. The torch builds are in the matrix.

catalog/indexes.yaml and catalog/packages/README.md describe each field.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from rocm_doctor.matrix import Matrix, TorchBuild
from rocm_doctor.model import Grade
from rocm_doctor.versions import contains

System = Literal["linux", "windows", "wsl"]
Training = Literal["full", "lora", "qlora"]
_EVERYWHERE: tuple[System, ...] = ("linux", "wsl", "windows")


class WheelIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place that torch wheels come from; kind `files`: single files, not an index. `extras`: device code is an extra of torch;
    `hip`: the minor that a nightly serves; `devices`: the targets of its device code; empty `pythons` or `platforms`: not
    known."""

    name: str
    url: str
    kind: Literal["index", "files"]
    words: str = ""
    sources: tuple[str, ...] = ()
    grade: Grade = "official"
    checked: datetime.date | None = None
    extras: bool = False
    nightly: bool = False
    hip: str = ""
    devices: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release of a package. `torch`, `python`, `needs`: the ranges that it takes; `code`: targets of its GPU libraries by HIP
    minor; `exact`: it loads that of its own minor only; `built`: compiled on this machine; `alone`: installed without its
    dependencies, which would replace the torch or Triton for ROCm; `build_with`: what either needs before it; `env`: variables to
    set where the GPU is not in `native`."""

    version: str
    torch: str
    python: str
    needs: dict[str, str] = {}
    systems: tuple[System, ...] = _EVERYWHERE
    code: dict[str, tuple[str, ...]] = {}
    code_windows: dict[str, tuple[str, ...]] = {}
    exact: bool = False
    built: bool = False
    alone: bool = False
    build_with: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    env: dict[str, str] = {}
    env_why: str = ""


class CatalogPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A library by its name at the package index, its releases newest first. `nearest`: beside a torch of another HIP minor it
    loads the GPU library of the minor below, or else the lowest of the same major. `always`: the torch releases that it is
    planned with, wished for or not. `elsewhere`: another source, if the index has it for other hardware only; the plan names it
    and does not install it. `companion`: it comes with torch, at the version that torch.yaml has for the build. `train`: the
    kinds of fine-tuning that use it. `repository`: its source on GitHub, whose newest commit has the same requirements as its
    newest release."""

    name: str
    what: str
    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date
    releases: tuple[Release, ...] = ()
    nearest: bool = False
    always: str = ""
    elsewhere: str = ""
    companion: bool = False
    train: tuple[Training, ...] = ()
    repository: str = ""
    takes: tuple[str, ...] = ()
    """Packages of this list that are planned with it."""


class SystemStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the system needs before Python: `words` say it, `commands` do it, `env` are variables to set. It is for these systems,
    kinds of GPU, targets and ROCm releases (empty: all). `framework`: for that one alone."""

    name: str
    systems: tuple[System, ...]
    words: str
    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date
    kinds: tuple[str, ...] = ()
    gfx: tuple[str, ...] = ()
    rocm: str = ""
    framework: str = ""
    commands: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Catalog(msgspec.Struct, frozen=True):
    """The matrix with indexes and packages by name, and the steps on the system."""

    matrix: Matrix
    indexes: dict[str, WheelIndex]
    packages: dict[str, CatalogPackage]
    steps: tuple[SystemStep, ...] = ()

    def system_steps(self, system: System, gfx: str, rocm: str) -> Iterator[SystemStep]:
        """The steps that fit a system, a target and a ROCm release."""
        kind = self.matrix.gfx[gfx].kind
        for step in self.steps:
            fits = system in step.systems and (not step.kinds or kind in step.kinds) and (not step.gfx or gfx in step.gfx)
            if fits and (not step.rocm or contains(step.rocm, rocm)):
                yield step

    def build_index(self, build: TorchBuild) -> WheelIndex | None:
        """Where a build comes from; None when no source gives an address."""
        if build.index.startswith("http"):
            return WheelIndex(build.index, build.index, "index", sources=build.sources)
        return self.indexes.get(build.index)


def load_catalog(matrix: Matrix) -> Catalog:
    """The catalog of this matrix: indexes, packages and steps; empty for each section that an old matrix lacks."""
    indexes = matrix.section("indexes", WheelIndex)
    packages = matrix.section("packages", CatalogPackage)
    steps = matrix.section("steps", SystemStep)
    return Catalog(matrix, {i.name: i for i in indexes}, {p.name: p for p in packages}, steps)


def order_packages(packages: Sequence[str], train: str, catalog: Catalog) -> tuple[str, ...]:
    """Names of the packages of `--with` and `--train` and of those that they take with them, each once. transformers, peft,
    accelerate and trl come first, in this order."""
    order = ["transformers", "peft", "accelerate", "trl"]
    asked = dict.fromkeys((*(p.name for p in catalog.packages.values() if train in p.train), *packages))
    names = dict.fromkeys(
        package for name in asked for package in (*(catalog.packages[name].takes if name in catalog.packages else ()), name)
    )
    return tuple(sorted(names, key=lambda n: order.index(n) if n in order else len(order)))
