"""Checks of the catalog against itself: targets, wheels, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_doctor.matrix.source import Entry
from rocm_doctor.matrix.speed import FieldFigure, ProductPeaks, Rate
from rocm_doctor.matrix.types import Target, TorchBuild
from rocm_doctor.versions import release

_NOT_CATALOGUED = {"gfx940", "gfx941"}
"""Targets that sources name and that no entry describes: early silicon that was never sold."""


def target(entry: Target) -> Iterator[tuple[str, str]]:
    """(field, message) where the kernel's number is not that of the name, whose last two characters are minor and step in hex, and
    where other fields contradict each other."""
    major, minor, step = int(entry.gfx[3:-2]), int(entry.gfx[-2], 16), int(entry.gfx[-1], 16)
    if entry.kfd != major * 10000 + minor * 100 + step:
        yield "kfd", f"{entry.kfd} is not the number of {entry.gfx}"
    if entry.wavefront_modes and entry.wavefront not in entry.wavefront_modes:
        yield "wavefront", f"{entry.wavefront} is not among the modes"
    yield from (("vram", f"`{card}` is not among the names") for card in entry.vram if not entry.has_product(card))
    for override in entry.overrides:
        names_itself = release(override.value) == (major, minor, step)
        if names_itself is not (override.verdict == "identity"):
            words = "names the chip itself" if names_itself else "is another target"
            yield "overrides", f"{override.value} {words}: not {override.verdict}"


def torch_build(entry: TorchBuild) -> Iterator[tuple[str, str]]:
    """(field, message) where the fields of a wheel contradict each other, or it has no targets."""
    # 2.9.1+rocm7.2.0.lw.git7e1940d4, 2.9.1+rocmsdk20260116
    builds = (f"{entry.torch}+rocm{entry.rocm}.", f"{entry.torch}+rocmsdk")
    if entry.local and not f"{entry.local}.".startswith(builds):
        yield "local", f"`{entry.local}` is not a build of torch {entry.torch} with ROCm {entry.rocm}"
    if (entry.gfx and not entry.gfx_evidence) or (entry.blas and not entry.blas_evidence):
        yield "gfx_evidence", "a list of targets needs its evidence"
    if entry.family != "bundled":
        return
    if not set(entry.blas) <= set(entry.gfx):
        yield "blas", "rocBLAS targets that torch is not compiled for"
    if not entry.gfx:
        yield "gfx", "`plan` cannot offer a wheel whose targets are missing"
    elif not entry.blas and (release(entry.rocm) or ()) >= (6, 4):
        yield "blas", "from ROCm 6.4 on, rocBLAS serves fewer targets than torch is compiled for; list them"


def targets(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each target in an entry of `torch`, `support` or `facts` that catalog/gfx.yaml lacks, and for
    each PCI id or `mach` that an earlier target has as well."""
    catalogued = {entry.key for entry in entries if entry.section == "gfx"} | _NOT_CATALOGUED
    owner: dict[tuple[str, str], str] = {}
    for entry in entries:
        for field in ("gfx", "blas") if entry.section in ("torch", "support", "facts") else ():
            unknown = (gfx for gfx in getattr(entry.value, field, ()) if gfx not in catalogued)
            yield from ((entry, field, f"`{gfx}` is not in catalog/gfx.yaml") for gfx in unknown)
        for field, number in _numbers(entry.value) if isinstance(entry.value, Target) else ():
            if owner.setdefault((field, number), entry.key) != entry.key:
                yield entry, field, f"{field} {number} belongs to {owner[field, number]} too"


def _numbers(chip: Target) -> Iterator[tuple[str, str]]:
    """(field, number) for each number that one target alone may have."""
    yield from (("pci", pci) for pci in chip.pci)
    if chip.mach:
        yield "mach", f"{chip.mach:#x}"


def indexes(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each wheel whose index is neither an address nor in catalog/indexes.yaml. Empty is allowed, and
    so are AMD's listings."""
    catalogued = {entry.key for entry in entries if entry.section == "indexes"} | {""}
    for entry in entries:
        index = entry.value.index if isinstance(entry.value, TorchBuild) and entry.value.family != "amd-listing" else ""
        if not index.startswith("http") and index not in catalogued:
            yield entry, "index", f"`{index}` is not in catalog/indexes.yaml"


def figures(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each peak without what it is worked out from, and for a product or a target that the catalog
    lacks."""
    targets = {e.value.gfx: e.value for e in entries if isinstance(e.value, Target)}
    rated = {e.value.family for e in entries if isinstance(e.value, Rate)}
    products = {e.key for e in entries if e.section == "peaks"}
    for entry in entries:
        peak = entry.value
        if isinstance(peak, FieldFigure) and peak.product not in products:
            yield entry, "product", f"`{peak.product}` is not in catalog/speed.yaml"
        if not isinstance(peak, ProductPeaks):
            continue
        chip = targets.get(peak.gfx)
        if chip is None and not peak.gfx.startswith("sm_"):
            yield entry, "gfx", f"`{peak.gfx}` is not in catalog/gfx.yaml"
        elif chip and not chip.has_product(peak.product):
            yield entry, "product", f"`{peak.product}` is not among the names of {peak.gfx} in catalog/gfx.yaml"
        elif not peak.peaks and (chip is None or chip.family not in rated):
            yield entry, "gfx", f"no rates for the family of {peak.gfx} in catalog/speed.yaml, and no stated peaks"
        elif bool(peak.compute_units) != bool(peak.clock_mhz):
            yield entry, "clock_mhz", "compute units and clock come together"
