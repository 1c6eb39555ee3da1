"""The verdict on a figure: as expected, slow, or cannot tell, with every reference that it was compared with."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.figures import peaks
from rocm_doctor.figures.types import BenchReport, Device, Figure, Judgement, Reference, ReferenceKind
from rocm_doctor.matrix import Matrix


class Bounds(NamedTuple):
    """Parts of a theoretical peak: below `slow` a figure is slow, from `good` on as expected, between them it cannot be told."""

    slow: float
    good: float


BOUNDS: tuple[tuple[str, Bounds], ...] = (
    # Parts of the peak that others reached (catalog/speed.yaml). fp32: 0.38 and 0.46 on an RX 7900 XTX, 0.24 where users and AMD call it
    # a defect. 16 bits: 0.50 to 0.80; 0.36 on an RX 9070 XT is called low, and 0.09 on a Radeon 8060S is rocBLAS without hipBLASLt.
    ("matmul-fp32", Bounds(0.28, 0.36)),
    ("matmul-bf16-training", Bounds(0.25, 0.40)),
    ("matmul-bf16-sustained", Bounds(0.25, 0.40)),
    ("matmul-", Bounds(0.38, 0.48)),
    # Triad and copy: 0.77 on an MI300X, 0.83 on a Radeon 8060S, 0.90 on an H200.
    ("memory-", Bounds(0.60, 0.72)),
    # Copies from pinned memory: 0.88 to 0.92 of the link on an RX 7900 XTX and an H200.
    ("host-to-device-pinned", Bounds(0.60, 0.75)),
    ("device-to-host-pinned", Bounds(0.60, 0.75)),
    # Attention: 0.25 of the bf16 peak on an MI300X (flash), 0.40 on an H200; written out (math) it is below 0.01 there.
    ("attention-forward", Bounds(0.06, 0.15)),
    ("attention-backward", Bounds(0.06, 0.15)),
)
"""The first prefix that fits a figure's name decides."""
STAGED = 0.8
"""A copy between GPUs that have no access to each other goes through the host if it is below this part of a copy from there."""
NOISY = 0.25
"""A figure whose samples spread by more than this part of the median is not judged: something else is running."""
TOO_FAST = 1.02
"""Above this part of a peak, the peak or the measurement is wrong."""
LEAST = 0.05
"""Difference of two GPUs below which it does not matter: two runs on one machine differ by up to 3 % (docs/bench.md)."""


def judge_figures(report: BenchReport, matrix: Matrix) -> BenchReport:
    """The report with references and verdicts."""
    devices = {device.index: device for device in report.gpus}
    figures = tuple(
        verdict(figure, [*_references(figure, devices[figure.gpu], matrix), *_run_references(figure, report)])
        for figure in report.figures
    )
    return msgspec.structs.replace(report, figures=figures)


def _references(figure: Figure, device: Device, matrix: Matrix) -> Iterable[Reference]:
    """The theoretical peak and the PCIe link."""
    product = peaks.find_product(device.product or device.name, matrix)
    if figure.name.endswith("-pinned"):
        for limit in (peaks.slot(device), peaks.link(device)):
            if limit:
                yield _reference("link", figure, limit)
    if product is None:
        return
    limit = peaks.peak(figure.name, product, matrix)
    if limit:
        yield _reference("peak", figure, limit)


def _reference(kind: ReferenceKind, figure: Figure, limit: peaks.Limit) -> Reference:
    part = figure.value / limit.value if limit.value else 0.0
    return Reference(kind, limit.value, round(part, 4), limit.words, limit.source)


def _run_references(figure: Figure, report: BenchReport) -> Iterable[Reference]:
    """The other GPUs of this machine; for a copy between GPUs the one from the host's pinned memory."""
    yield from _sibling_reference(figure, report)
    for other in report.figures:
        if figure.name == "peer-copy" and (other.gpu, other.name) == (figure.gpu, "host-to-device-pinned"):
            yield _reference("host", figure, peaks.Limit(other.value, "a copy from the host's pinned memory", "this run"))


def _sibling_reference(figure: Figure, report: BenchReport) -> Iterable[Reference]:
    """The same figure of the other GPUs of this machine, of those of the same name. Significant: worse by more than the samples spread."""
    if figure.name == "host-to-device-pageable":  # the host's processor copies it: two runs on one GPU differ by up to a quarter
        return
    names = {device.index: device.name for device in report.gpus}
    same = [f for f in report.figures if f.name == figure.name and f.gpu != figure.gpu and names[f.gpu] == names[figure.gpu]]
    if same:
        middle = statistics.median(other.value for other in same)
        ratio = figure.value / middle if middle else 1.0
        worse = 1 - ratio > max(LEAST, 2 * (figure.spread + max(other.spread for other in same)))
        yield Reference("others", middle, round(ratio, 4), "the other GPUs of this machine", "this run", worse)


def verdict(figure: Figure, references: Sequence[Reference]) -> Figure:
    """The figure with its references, the one that decided, and the verdict with its reason."""
    chosen, word, why = _decide(figure, {reference.kind: reference for reference in reversed(references)})
    value, share = (chosen.value, chosen.ratio) if chosen else (None, None)
    return msgspec.structs.replace(figure, references=tuple(references), reference=value, share=share, verdict=word, why=why)


def _decide(figure: Figure, by_kind: Mapping[ReferenceKind, Reference]) -> tuple[Reference | None, Judgement, str]:
    """(reference that decides, verdict, why). The reference is None if none decides; the first of each kind of reference
    counts."""
    host = by_kind.get("host")
    if host and host.ratio < STAGED and figure.detail.get("access") is False:
        return host, "slow", f"{host.ratio:.2g} times {host.words}, and the GPUs have no access to each other"
    if figure.spread > NOISY:
        return None, "cannot tell", f"the samples spread by ±{figure.spread:.0%}: is something else running?"
    if (others := by_kind.get("others")) and others.significant:
        return others, "slow", f"{1 - others.ratio:.0%} worse than {others.words}"
    bounds = next((b for prefix, b in BOUNDS if figure.name.startswith(prefix)), None)
    limit = by_kind.get("link") or by_kind.get("peak")
    if limit is None:
        return None, "cannot tell", "no reference"
    why = f"{limit.ratio:.0%} of {limit.value:g}"
    if bounds is None:
        return limit, "cannot tell", f"{why}; no bound"
    if limit.ratio > TOO_FAST:
        return limit, "cannot tell", f"{why}: the reference or the measurement is wrong"
    if limit.ratio < bounds.slow:
        return limit, "slow", f"{why}; {bounds.slow:.0%} is the least that a sound GPU reaches"
    if limit.ratio < bounds.good:
        return limit, "cannot tell", f"{why}; from {bounds.good:.0%} on it is as expected"
    return limit, "as expected", why
