"""Checks of the catalog against itself: targets, wheels, support, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rocm_doctor.matrix.types import Fact as Statement
from rocm_doctor.matrix.types import FieldFigure, Peak, Rate, Support, Target, TorchBuild
from rocm_doctor.versions import release

_NOT_CATALOGUED = {"gfx940", "gfx941"}
"""Targets that sources name and that no entry describes: early silicon that was never sold."""


def faults(entries: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
    """(number of the entry, field, message) for each fault of the catalog."""
    targets = {e.gfx for e in entries if isinstance(e, Target)}
    yield from _check_unique(entries)
    yield from _pci(entries)
    yield from _peaks(entries)
    for number, entry in enumerate(entries):
        if isinstance(entry, Target):
            yield from ((number, field, words) for field, words in _target(entry))
        elif isinstance(entry, TorchBuild):
            yield from ((number, field, words) for field, words in _torch(entry))
        for field in ("gfx", "blas"):
            named = getattr(entry, field, ()) if isinstance(entry, (TorchBuild, Support, Statement)) else ()
            yield from ((number, field, f"`{g}` is not in catalog/gfx.yaml") for g in named if g not in targets | _NOT_CATALOGUED)


def _check_unique(entries: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
    """A fault for each entry whose name another entry of its type has."""
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(entries):
        field = next(
            f for f in ("key", "id", "product", "gfx", "module", "name", "version", "names") if f in entry.__struct_fields__
        )
        name = (type(entry).__name__, str(getattr(entry, field)))
        if name in seen and type(entry).__name__ != "Row":
            yield number, field, f"`{name[1]}` appears twice"
        seen.add(name)


def _pci(entries: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
    owner: dict[str, str] = {}
    for number, entry in enumerate(entries):
        for pci in entry.pci if isinstance(entry, Target) else ():
            if owner.setdefault(pci, entry.gfx) != entry.gfx:
                yield number, "pci", f"device {pci} belongs to {owner[pci]} too"


def _target(entry: Target) -> Iterator[tuple[str, str]]:
    """(field, message) where the kernel's number is not that of the name, whose last two characters are minor and step in hex."""
    major, minor, step = entry.gfx[3:-2], entry.gfx[-2], entry.gfx[-1]
    if entry.kfd != int(major) * 10000 + int(minor, 16) * 100 + int(step, 16):
        yield "kfd", f"{entry.kfd} is not the number of {entry.gfx}"
    if entry.wavefront_modes and entry.wavefront not in entry.wavefront_modes:
        yield "wavefront", f"{entry.wavefront} is not among the modes"
    for override in entry.overrides:
        names_itself = release(override.value) == (int(major), int(minor, 16), int(step, 16))
        if names_itself is not (override.verdict == "identity"):
            yield (
                "overrides",
                f"{override.value} {'names the chip itself' if names_itself else 'is another target'}: not {override.verdict}",
            )


def _torch(entry: TorchBuild) -> Iterator[tuple[str, str]]:
    if entry.local and not entry.local.startswith(entry.torch + "+"):
        yield "local", f"`{entry.local}` is not a build of torch {entry.torch}"
    if entry.family == "bundled" and not set(entry.blas) <= set(entry.gfx):
        yield "blas", "rocBLAS targets that torch is not compiled for"
    rocm = release(entry.rocm)
    if entry.family == "bundled" and not entry.gfx:
        yield "gfx", "`plan` cannot offer a wheel whose targets are missing"
    if entry.family == "bundled" and entry.gfx and not entry.blas and rocm and rocm >= (6, 4):
        yield "blas", "from ROCm 6.4 on, rocBLAS serves fewer targets than torch is compiled for; list them"
    if (entry.gfx and not entry.gfx_evidence) or (entry.blas and not entry.blas_evidence):
        yield "gfx_evidence", "a list of targets needs its evidence"


def _peaks(entries: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
    """A fault for each peak that cannot be worked out, and for each measurement of a product that the catalog lacks."""
    family = {e.gfx: e.family for e in entries if isinstance(e, Target)}
    rated = {e.family for e in entries if isinstance(e, Rate)}
    products = {e.product for e in entries if isinstance(e, Peak)}
    for number, entry in enumerate(entries):
        if isinstance(entry, Peak) and not entry.gfx.startswith("sm_") and entry.gfx not in family:
            yield number, "gfx", f"`{entry.gfx}` is not in catalog/gfx.yaml"
        elif isinstance(entry, Peak) and not entry.peaks and family[entry.gfx] not in rated:
            yield number, "gfx", f"no rates for {family[entry.gfx]} in catalog/speed.yaml, and no stated peaks"
        elif isinstance(entry, Peak) and bool(entry.compute_units) != bool(entry.clock_mhz):
            yield number, "clock_mhz", "compute units and clock come together"
        elif isinstance(entry, Rate) and entry.key != f"{entry.family}-{entry.dtype}":
            yield number, "key", f"`{entry.key}` is not {entry.family}-{entry.dtype}"
        elif isinstance(entry, FieldFigure) and entry.product not in products:
            yield number, "product", f"`{entry.product}` is not in catalog/speed.yaml"
