"""What the stages ask of a framework of arrays, and what JAX and TensorFlow have in common."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..compare import Wrong, judge, judge_bits
from ..context import Context
from .references import References

EPS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
CPU_DEVICES = 2
"""Devices that the CPU is divided into, so that sharding is exercised without GPUs."""


class ArrayContext(Context):
    """A framework of arrays. `ops`: its functions that can be differentiated, by one name for all frameworks."""

    package = ""
    sum_steps = 1.0
    """Roundings to a 16-bit format in its sum and softmax on this device."""
    plugins: tuple[str, ...] = ()
    """Beginnings of the names of the distributions that bring the GPU."""

    def __init__(self, args: Any, emit: Callable[..., None]) -> None:
        super().__init__(args, emit)
        self.np: Any = None
        self.lib: Any = None
        self.ops: Any = None

    def about(self) -> dict[str, Any]:
        """Version, and what the framework was built for."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """The device's properties. Raises Wrong where the GPU that this build is for does not come."""
        raise NotImplementedError

    def put(self, array: Any) -> Any:
        """A fresh copy on the device."""
        raise NotImplementedError

    def copied(self, value: Any) -> Any:
        """A copy made on the device."""
        raise NotImplementedError

    def get(self, value: Any) -> Any:
        """A numpy array of the value."""
        raise NotImplementedError

    def precision(self, wanted: str) -> Any:
        """A block in which fp32 products are `highest` or `high` (reduced, where the chip has it)."""
        raise NotImplementedError

    def fused_attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        """The framework's own fused kernel on operands of [batch, head, length, width]. Raises Skip without one for this device, NoKernel
        for these operands."""
        raise NotImplementedError

    def sharded_step(self, parts: dict[str, Any], x: Any, y: Any, loss: Callable[..., Any]) -> tuple[float, dict[str, Any]]:
        """The mean loss and the gradients of `parts`, the rows of x and y divided over all devices."""
        raise NotImplementedError

    def device_count(self) -> int:
        """Devices that one process can use together."""
        raise NotImplementedError

    def compiled(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        """`gradients` of one function, compiled once: called with operands and pull."""
        raise NotImplementedError

    def wait(self, value: Any) -> None:
        """Wait until a value has been computed."""
        raise NotImplementedError

    def keep_compiled(self, folder: str) -> None:
        """Keep compiled kernels in this folder, where the framework has such a cache."""

    def gradients(self, function: Callable[..., Any], operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
        """The function's result and the gradients for the given gradient of the result; all on the device."""
        return self.compiled(function)(operands, pull)

    @property
    def references(self) -> References:
        """Float64 results and gradients."""
        made: References = self.keep("references", lambda: References(self.np))
        return made

    def seeded(self, seed: int) -> Any:
        return self.np.random.default_rng(seed)

    def random(self, *shape: int, dtype: str = "float32") -> Any:
        """The stage's next normal random numbers, the same in every run, rounded to `dtype`."""
        return self.generator.standard_normal(shape, dtype=self.np.float32).astype(self.dtype(dtype))

    def dtype(self, name: str) -> Any:
        """numpy's type of that name; ml_dtypes, which both frameworks depend on, has bfloat16."""
        return getattr(importlib.import_module("ml_dtypes"), name) if name == "bfloat16" else self.np.dtype(name)

    def check(self, name: str, got: Any, want: Any, allowed: float, size: float = 0.0) -> float:
        """Compare a value of the device with its float64 reference; the relative error."""
        return judge(self.np.isfinite, name, self.get(got).astype(self.np.float64), want, allowed, size)

    def same_bits(self, name: str, got: Any, want: Any) -> None:
        """Compare a value of the device with an array bit for bit."""
        np, got = self.np, self.get(got)
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Wrong("shape", f"{name}: {got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}")
        got, want = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (got, want))
        judge_bits(name, got, np.flatnonzero(got != want))

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that bring the GPU."""
        names = ((d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions())
        return {name: version for name, version in names if name.lower().replace("_", "-").startswith(self.plugins)}


@contextlib.contextmanager
def temporary_setting(read: Callable[[], Any], write: Callable[[Any], Any], value: Any) -> Iterator[None]:
    """A setting with that value for the length of a block."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


def has_module(name: str) -> bool:
    """True if a module of that name can be found; nothing is imported."""
    return importlib.util.find_spec(name) is not None
