"""JAX: its devices, arrays, compiled functions. Plugins bring the GPU: jax-rocm7-plugin and jax-rocm7-pjrt, or jax-cuda12-plugin.

Values of system memory are arrays of numpy, which JAX depends on. Source for what is particular to ROCm: JAX's installation guide and the
ROCm plugin's documentation; **unproven on AMD hardware**.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from . import hip
from .attention import plain_attention
from .compare import NoKernel, Skip, Wrong, judge_bits
from .context import Context

PLUGINS = ("jax-rocm", "jax-cuda", "jaxlib")
"""Beginnings of the names of the distributions that bring the GPU."""
NO_FUSED = ("cudnn", "not supported", "unsupported", "not implemented")
"""Words of JAX's refusals of a fused kernel, in lower case."""


class JaxContext(Context):
    """JAX on one device."""

    package = "jax"
    lib: Any = None
    np: Any = None
    device: Any = None

    def load(self) -> Any:
        if self.lib is None:
            # Without this JAX takes three quarters of the GPU's memory, which other queues need.
            os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
            if self.args.device == "cpu":
                os.environ["JAX_PLATFORMS"] = "cpu"
            elif os.environ.get("JAX_PLATFORMS"):  # the references need the CPU, too
                os.environ["JAX_PLATFORMS"] += ",cpu"
            self.lib = importlib.import_module("jax")
            self.np = importlib.import_module("numpy")
            self.ops = operations(self.lib)
        return self.lib

    def describe_build(self) -> dict[str, Any]:
        names = ((d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions())
        versions = {name: version for name, version in names if name.lower().replace("_", "-").startswith(PLUGINS)}
        built = next((kind for kind in ("rocm", "cuda") if any(kind in name for name in versions)), "cpu")
        return {"jax": str(self.lib.__version__), "plugins": versions, "built_for": built}

    def take_device(self) -> None:
        if self.device is None:
            devices = self._devices()
            self.on_gpu = bool(devices[0].platform != "cpu")
            self.device = devices[self.args.gpu if self.on_gpu else 0]
            self.lib.config.update("jax_default_device", self.device)

    def _devices(self) -> list[Any]:
        return list(self.lib.devices("gpu") if self.args.device == "cuda" else self.lib.devices())

    def describe(self) -> dict[str, Any]:
        try:
            devices = self._devices()
        except RuntimeError as error:
            raise Wrong("not-available", str(error), masks=hip.visibility_variables()) from None
        built, masks = self.describe_build()["built_for"], hip.visibility_variables()
        if devices[0].platform == "cpu":
            if self.args.device != "cpu" and built != "cpu":
                raise Wrong("not-available", f"a plugin for {built} is installed and JAX lists {devices}", masks=masks)
            why = "asked for" if self.args.device == "cpu" else "no plugin for a GPU is installed"
            return {"kind": "cpu", "count": 1, "why": why, "threads": os.cpu_count()}
        if self.args.gpu >= len(devices):
            raise Wrong("no-such-index", f"GPU {self.args.gpu} was requested, but JAX lists {len(devices)}", masks=masks)
        self.take_device()
        runtime = str(getattr(self.device.client, "platform_version", ""))
        return {
            "kind": "hip" if "rocm" in runtime.lower() or built == "rocm" else "cuda",
            "name": self.device.device_kind,
            "architecture": str(getattr(self.device, "compute_capability", "")),
            "runtime": runtime.strip().splitlines()[0] if runtime.strip() else "",
            "count": len(devices),
            "index": self.args.gpu,
            "total_bytes": (self.device.memory_stats() or {}).get("bytes_limit"),
            "masks": masks,
        }

    def full_precision(self) -> Any:
        return self.lib.default_matmul_precision("highest")

    def new_generator(self, seed: int) -> Any:
        return self.np.random.default_rng(seed)

    def random(self, *shape: int, dtype: Any = "float32") -> Any:
        return self.cast(self.generator.standard_normal(shape, dtype=self.np.float32), dtype)

    def random_bytes(self, size: int) -> Any:
        return self.generator.integers(1, 256, size, dtype=self.np.uint8)

    def host(self, numbers: Sequence[float], dtype: str = "float32") -> Any:
        return self.np.array(numbers, dtype=dtype)

    def cast(self, value: Any, dtype: Any) -> Any:
        # ml_dtypes, which JAX depends on, has bfloat16.
        kind = importlib.import_module("ml_dtypes").bfloat16 if dtype == "bfloat16" else self.np.dtype(dtype)
        with self.np.errstate(over="ignore"):
            return value.astype(kind)

    def put(self, value: Any) -> Any:
        return self.lib.numpy.array(value, copy=True)

    def copy_on_device(self, value: Any) -> Any:
        return self.lib.numpy.copy(value)

    def round_trips(self) -> dict[str, Callable[[Any], Any]]:
        return {"pageable": self.put, "on-device": lambda source: self.copy_on_device(self.put(source))}

    def get(self, value: Any) -> Any:
        return self.np.array(value)

    def sync(self) -> None:
        if self.device is not None:
            self.lib.block_until_ready(self.lib.numpy.zeros(()) + 1)

    def compile(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            result, back = self.lib.vjp(function, *operands)
            return result, list(back(self.lib.numpy.ones_like(result) if pull is None else pull))

        compiled: Callable[..., tuple[Any, list[Any]]] = self.lib.jit(both)
        return compiled

    @contextlib.contextmanager
    def use_float64(self) -> Iterator[None]:
        jax = self.lib
        double = jax.enable_x64 if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental").enable_x64
        with double(True), jax.default_device(jax.devices("cpu")[0]):
            yield

    def attend(self, backend: str, q: Any, k: Any, v: Any, causal: bool) -> Any:
        if backend == "math":
            return plain_attention(self.ops, q, k, v, causal)
        fused = getattr(self.lib.nn, "dot_product_attention", None)
        if backend != "flash" or not self.on_gpu or fused is None or self.describe_build()["built_for"] == "rocm":
            raise Skip("no-choice", "JAX has no such attention to choose for this device")
        try:
            return self.ops.heads(fused(*map(self.ops.heads, (q, k, v)), is_causal=causal, implementation="cudnn"))
        except (ValueError, NotImplementedError, RuntimeError) as error:
            if any(words in str(error).lower() for words in NO_FUSED):
                raise NoKernel(str(error)[:500]) from None
            raise

    def is_finite(self, value: Any) -> Any:
        return self.np.isfinite(value)

    def same_bits(self, name: str, got: Any, want: Any) -> None:
        np, got = self.np, self.get(got)
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Wrong("shape", f"{name}: {got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}")
        got, want = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (got, want))
        judge_bits(name, got, np.flatnonzero(got != want))


def operations(jax: Any) -> SimpleNamespace:
    """JAX's functions by the names that the stages use."""
    jnp, lax = jax.numpy, jax.lax

    def cross_entropy(x: Any, places: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.asarray(places)[:, None], axis=1)[:, 0]

    def rms_norm(x: Any, scale: Any) -> Any:
        return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        return rms_norm(x - jnp.mean(x, axis=-1, keepdims=True), scale) + shift

    return SimpleNamespace(
        softmax=jax.nn.softmax,
        causal=lambda x: jnp.where(jnp.tril(jnp.ones(x.shape[-2:], dtype=bool)), x, -jnp.inf),
        gelu=jax.nn.gelu,
        silu=jax.nn.silu,
        sum=lambda x: jnp.sum(x, axis=-1),
        mean=jnp.mean,
        take=lambda table, places: jnp.take(table, jnp.asarray(places), axis=0),
        swap=lambda x: jnp.swapaxes(jnp.asarray(x), -1, -2),
        heads=lambda x: jnp.swapaxes(x, 1, 2),
        cast=lambda x, dtype: jnp.asarray(x).astype(dtype),
        cross_entropy=cross_entropy,
        conv2d=lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        layer_norm=layer_norm,
        rms_norm=rms_norm,
        image=((4, 33, 31, 8), (3, 3, 8, 16)),
    )
