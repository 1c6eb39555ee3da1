"""What a stage asks of the framework under test: its device, values there and in system memory, gradients, comparisons.

A value of system memory is a tensor of torch (on_torch.py) or an array of numpy (on_jax.py); `@`, `.T`, slices and `sum(axis=...)` are
written the same for both. Number formats are named by words: float32, float16, bfloat16, float64.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from .compare import judge, norm

EPS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Machine epsilon: the distance from 1 to the next number."""
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895314e38}
"""Largest finite number."""


class Context:
    """A framework and its device. `ops`: functions that the stages call by one name for both frameworks."""

    package = ""
    """The module to import."""
    on_gpu = False
    """True if the device under test is a GPU."""
    halves: tuple[str, ...] = ("float16", "bfloat16")
    """16-bit formats in which the device trains."""
    ops: Any = None

    def __init__(self, args: SimpleNamespace, emit: Callable[..., None]) -> None:
        self.args = args
        self.emit = emit
        self.stage = ""
        self.framework: str = args.framework
        self.level: int = args.level
        self._generator: Any = None
        self._seeded_for = ""

    # The framework and its device.

    def load(self) -> Any:
        """The framework's module, imported at the first call: a child that starts in the middle of the table imports it as well."""
        raise NotImplementedError

    def describe_build(self) -> dict[str, Any]:
        """The version, and what the framework was built for."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """The device's properties. Raises Wrong: not-available, no-such-index."""
        raise NotImplementedError

    def take_device(self) -> None:
        """Make the device under test the current one of this process: the first contact with the runtime."""

    def sync(self) -> None:
        """Wait for the device."""

    def tidy(self) -> None:
        """Free the memory of a stage."""
        gc.collect()

    def full_precision(self) -> Any:
        """A block in which products of float32 round nothing to a shorter format."""
        raise NotImplementedError

    # Values of system memory.

    def new_generator(self, seed: int) -> Any:
        raise NotImplementedError

    def random(self, *shape: int, dtype: Any = "float32") -> Any:
        """The stage's next normal random numbers, the same in every run, rounded to `dtype`."""
        raise NotImplementedError

    def random_bytes(self, size: int) -> Any:
        """Random bytes, none of them zero."""
        raise NotImplementedError

    def host(self, numbers: Sequence[float], dtype: str = "float32") -> Any:
        """The numbers in system memory."""
        raise NotImplementedError

    def cast(self, value: Any, dtype: Any) -> Any:
        """A value of system memory rounded to `dtype`."""
        raise NotImplementedError

    def widen(self, value: Any) -> Any:
        """A value of system memory in float64."""
        return self.cast(value, "float64")

    # Values of the device.

    def put(self, value: Any) -> Any:
        """A fresh copy on the device."""
        raise NotImplementedError

    def get(self, value: Any) -> Any:
        """The value in system memory."""
        raise NotImplementedError

    def round_trips(self) -> dict[str, Callable[[Any], Any]]:
        """Ways of a value to the device and back, by name."""
        raise NotImplementedError

    def compile(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        """A function that takes (operands, pull) and returns what `gradients` does; the framework compiles it once."""
        raise NotImplementedError

    def attend(self, backend: str, q: Any, k: Any, v: Any, causal: bool) -> Any:
        """Attention by a backend (math, efficient, flash). Raises Skip where there is none to choose, NoKernel for operands it refuses."""
        raise NotImplementedError

    def use_float64(self) -> Any:
        """A block in which the framework computes in float64 on the CPU."""
        raise NotImplementedError

    # What follows from those.

    def gradients(self, function: Callable[..., Any], operands: Sequence[Any], pull: Any = None) -> tuple[Any, list[Any]]:
        """(result, gradients): the function's result on the device and the gradients of its operands, for the gradient `pull` of
        the result (None: 1)."""
        return self.compile(function)(operands, pull)

    def exact_gradients(self, function: Callable[..., Any], operands: Sequence[Any], pull: Any = None) -> tuple[Any, list[Any]]:
        """(result, gradients) as of `gradients`, computed in float64 on the CPU; all are values of system memory."""
        with self.use_float64():
            wide = [self.widen(operand) for operand in operands]
            result, gradients = self.gradients(function, wide, None if pull is None else self.widen(pull))
            return self.get(result), [self.get(gradient) for gradient in gradients]

    def check(self, name: str, got: Any, want: Any, allowed: float, size: float = 0.0) -> float:
        """The relative error of a value of the device against its float64 reference. Raises Wrong: shape, nan, zeros or
        mismatch."""
        return judge(self.is_finite, name, self.widen(self.get(got)), self.widen(self.get(want)), allowed, size)

    def is_finite(self, value: Any) -> Any:
        """For each number of a value of system memory, whether it is finite."""
        raise NotImplementedError

    def same_bits(self, name: str, got: Any, want: Any) -> None:
        """Compare a value of the device with one of system memory. Raises Wrong if a bit differs."""
        raise NotImplementedError

    def product_size(self, left: Any, right: Any) -> float:
        """The norm of left @ right if its terms do not happen to cancel: errors of a product are relative to it."""
        return norm(self.widen(left)) * norm(self.widen(right)) / math.sqrt(left.shape[-1])

    @property
    def generator(self) -> Any:
        """One source of random numbers for each stage, so that a stage run alone sees what it sees among the others."""
        if self._seeded_for != self.stage:
            self._generator = self.new_generator(zlib.crc32(self.stage.encode()))
            self._seeded_for = self.stage
        return self._generator

    def report(self, what: str) -> None:
        """Say what is being waited for, should it take long."""
        self.emit(event="doing", stage=self.stage, text=what)

    def clock(self, action: Callable[[], Any], repeat: int = 1) -> float:
        """Seconds of one call, device work included."""
        self.sync()
        began = time.perf_counter()
        for _ in range(repeat):
            action()
        self.sync()
        return (time.perf_counter() - began) / repeat


@contextlib.contextmanager
def temporary_setting(read: Callable[[], Any], write: Callable[[Any], Any], value: Any) -> Iterator[None]:
    """A setting with that value for the length of a block."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)
