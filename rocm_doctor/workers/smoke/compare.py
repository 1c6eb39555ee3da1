"""Comparing a device's numbers with float64 numbers of the CPU: what may differ, and how a difference is named.

**Tolerances** follow from the number format and the length of the sums, not from what some GPU happened to give:

* Rounding to a format of machine epsilon `eps` moves a value by `u = eps / 2` of itself at most. Errors of `n` roundings, one
  after the other or in one sum, stay below `LAMBDA * sqrt(n) * u` with probability near one: Higham and Mary, "A new approach
  to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4. (The bound without probability is `n
  * u`: Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1.)
* An operation rounds its operands, partial results and result `steps` times to its own format; each stage counts them and says
  how.
* Its sums of `length` products are accumulated in fp32, as all BLAS and attention kernels in question do for 16-bit operands
  too.

Operands are rounded to the format first and the reference is computed from the rounded ones, so that the conversion of the
inputs never counts. Errors are compared in the Frobenius norm, and no single element may be off by more than SPIKE times the
tolerance in units of (root mean square + own magnitude): six deviations of a normal error over a million elements, and a
little.
"""

from __future__ import annotations

import math
from typing import Any

LAMBDA = 4.0
SPIKE = 8.0


class Wrong(Exception):
    """The device gave a wrong result. `reason` is one word: zeros, nan, mismatch, shape, ..."""

    def __init__(self, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.reason = reason
        self.details = details


class Skip(Exception):
    """The stage does not apply here. `reason` is one word, the message explains it."""

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason


class NoKernel(Exception):
    """The framework has no kernel of this kind for these operands; the message gives its reason."""


def tolerance(eps: float, length: int = 1, steps: float = 1.0) -> float:
    """Allowed relative error (Frobenius) after `steps` roundings to a format of epsilon `eps` and sums of `length` terms in
    fp32.
    """
    return LAMBDA * (math.sqrt(steps) * eps / 2 + math.sqrt(length) * 2.0**-24)


def judge(isfinite: Any, name: str, got: Any, want: Any, allowed: float, size: float = 0.0) -> float:
    """The error of a float64 tensor or array of system memory, relative to the reference's norm (or to `size`, if that is
    larger). Raises Wrong with the reason shape, nan, zeros or mismatch."""
    if got.shape != want.shape:
        raise Wrong("shape", f"{name}: shape {tuple(got.shape)} instead of {tuple(want.shape)}")
    number = math.prod(got.shape)
    if not bool(isfinite(got).all()):
        bad = int((~isfinite(got)).sum())
        raise Wrong("nan", f"{name}: {bad} of {number} values are NaN or infinite", wrong=bad, of=number)
    if not bool(got.any()) and bool(want.any()):
        raise Wrong("zeros", f"{name}: all {number} values are zero", wrong=number, of=number)
    error, size = abs(got - want), max(size, norm(want))
    relative = norm(error) / size if size else norm(error)
    spikes = error > SPIKE * allowed * (size / math.sqrt(max(number, 1)) + abs(want))
    if relative > allowed or bool(spikes.any()):
        bad = int(spikes.sum())
        text = f"{name}: relative error {relative:.2g} where rounding explains {allowed:.2g}; {bad} of {number} values far off"
        raise Wrong("mismatch", text, error=relative, allowed=allowed, wrong=bad, of=number)
    return relative


def norm(values: Any) -> float:
    """The Frobenius norm of a float64 tensor or array."""
    return math.sqrt(float((values * values).sum()))


def judge_bits(name: str, got: Any, differs: Any) -> None:
    """Compare bytes. `differs`: the places. Raises Wrong: zeros where data came back as zeros, else mismatch with the first place."""
    if not len(differs):
        return
    first, bad = int(differs[0]), len(differs)
    zeros = not bool(got[differs].any())
    text = f"{name}: {bad} of {len(got)} bytes differ{' (zeros came back)' if zeros else ''}, the first at {first}"
    raise Wrong("zeros" if zeros else "mismatch", text, wrong=bad, of=len(got), first=first)
