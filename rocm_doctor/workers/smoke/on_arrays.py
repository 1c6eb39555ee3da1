"""What JAX and TensorFlow have in common: numpy, which both depend on, holds the values of system memory."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .attention import plain_attention
from .compare import Skip, Wrong, judge_bits
from .context import Context


class ArrayContext(Context):
    """A framework of arrays."""

    plugins: tuple[str, ...] = ()
    """Beginnings of the names of the distributions that bring the GPU."""
    np: Any = None
    lib: Any = None

    def copy_on_device(self, value: Any) -> Any:
        """A copy made on the device."""
        raise NotImplementedError

    def new_generator(self, seed: int) -> Any:
        return self.np.random.default_rng(seed)

    def random(self, *shape: int, dtype: Any = "float32") -> Any:
        return self.cast(self.generator.standard_normal(shape, dtype=self.np.float32), dtype)

    def random_bytes(self, size: int) -> Any:
        return self.generator.integers(1, 256, size, dtype=self.np.uint8)

    def host(self, numbers: Sequence[float], dtype: str = "float32") -> Any:
        return self.np.array(numbers, dtype=dtype)

    def cast(self, value: Any, dtype: Any) -> Any:
        # ml_dtypes, which both frameworks depend on, has bfloat16.
        kind = importlib.import_module("ml_dtypes").bfloat16 if dtype == "bfloat16" else self.np.dtype(dtype)
        with self.np.errstate(over="ignore"):
            return value.astype(kind)

    def round_trips(self) -> dict[str, Callable[[Any], Any]]:
        return {"pageable": self.put, "on-device": lambda source: self.copy_on_device(self.put(source))}

    def attend(self, backend: str, q: Any, k: Any, v: Any, causal: bool) -> Any:
        if backend != "math":
            raise Skip("no-choice", f"{self.framework} has no such attention to choose for this device")
        return plain_attention(self.ops, q, k, v, causal)

    def is_finite(self, value: Any) -> Any:
        return self.np.isfinite(value)

    def same_bits(self, name: str, got: Any, want: Any) -> None:
        np, got = self.np, self.get(got)
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Wrong("shape", f"{name}: {got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}")
        got, want = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (got, want))
        judge_bits(name, got, np.flatnonzero(got != want))

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that bring the GPU."""
        names = ((d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions())
        return {name: version for name, version in names if name.lower().replace("_", "-").startswith(self.plugins)}


def norms(mean: Callable[..., Any], rsqrt: Callable[[Any], Any]) -> SimpleNamespace:
    """Layer and RMS normalisation, written out for frameworks that have no such function."""

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        off = x - mean(x, axis=-1, keepdims=True)
        return off * rsqrt(mean(off * off, axis=-1, keepdims=True) + 1e-6) * scale + shift

    def rms_norm(x: Any, scale: Any) -> Any:
        return x * rsqrt(mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale

    return SimpleNamespace(layer_norm=layer_norm, rms_norm=rms_norm, image=((4, 33, 31, 8), (3, 3, 8, 16)))
