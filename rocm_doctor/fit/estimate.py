"""One answer from one job and one GPU: predicted peaks, how sure, and whether it fits."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_doctor.fit import closed_form
from rocm_doctor.fit.allocator import MemoryPeak
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.runner import Simulated, find_peak

How = Literal["simulation", "closed form"]
Verdict = Literal["fits", "tight", "too close to call", "does not fit", "unknown"]


class Bound(msgspec.Struct, frozen=True):
    """How far the prediction may be off, as fractions of the allocated and the reserved bytes. `basis`: what that rests on."""

    allocated: float
    reserved: float
    basis: str


BASIS = "twice the worst error on 50 steps measured on an NVIDIA H200, 3 % at least (docs/fit.md); no AMD GPU was measured"
BOUNDS: dict[How, Bound] = {"simulation": Bound(0.03, 0.10, BASIS), "closed form": Bound(0.06, 0.47, BASIS)}
"""Twice: other versions of torch and transformers, and settings between the measured ones. The tests hold them to the measured
rows."""


class Estimate(msgspec.Struct, frozen=True):
    """Peaks in bytes. `peak_reserved_bytes` is what rocm-smi or nvidia-smi would show, less the runtime's context; `breakdown`:
    what is allocated at the peak, by purpose."""

    how: How
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    breakdown: dict[str, int]
    error_bound: Bound


def simulate(card: Card, simulated: Simulated) -> Estimate:
    """The estimate from a simulated step; `card` gives the bytes of BLAS scratch."""
    return _make_estimate("simulation", find_peak(simulated, card.workspace))


def compute(job: Job, card: Card) -> Estimate:
    """The estimate by the closed form. Raises shape.ShapeError for an architecture that it does not cover."""
    return _make_estimate("closed form", closed_form.predict(job, card.workspace))


def _make_estimate(how: How, peak: MemoryPeak) -> Estimate:
    return Estimate(how, peak.allocated, peak.reserved, peak.breakdown, BOUNDS[how])


def verdict(estimate: Estimate, card: Card) -> Verdict:
    """fits: what the allocator would reserve fits, error included. tight: what is allocated fits, error included, once cached
    blocks are given back. too close to call: it fits only if the error is in its favour. does not fit: not even then. unknown:
    the GPU's memory is not known."""
    room = card.available
    if room is None:
        return "unknown"
    bound = estimate.error_bound
    if estimate.peak_reserved_bytes * (1 + bound.reserved) <= room:
        return "fits"
    if estimate.peak_allocated_bytes * (1 + bound.allocated) <= room:
        return "tight"
    return "too close to call" if estimate.peak_allocated_bytes * (1 - bound.allocated) <= room else "does not fit"


def margin(estimate: Estimate, card: Card) -> int | None:
    """Bytes left over (negative: missing) when nothing that is allocated can be given back."""
    return None if card.available is None else card.available - estimate.peak_allocated_bytes
