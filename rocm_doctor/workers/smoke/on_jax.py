"""JAX: its devices, arrays, compiled functions. Plugins bring the GPU: jax-rocm7-plugin and jax-rocm7-pjrt, or jax-cuda12-plugin.

Source for what is particular to ROCm: JAX's installation guide and the ROCm plugin's documentation; **unproven on AMD hardware**.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from . import hip
from .compare import NoKernel, Wrong
from .on_arrays import ArrayContext, norms

NO_FUSED = ("cudnn", "not supported", "unsupported", "not implemented")
"""Words of JAX's refusals of a fused kernel, in lower case."""


class JaxContext(ArrayContext):
    """JAX on one device."""

    package = "jax"
    plugins = ("jax-rocm", "jax-cuda", "jaxlib")
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
        versions = self.versions()
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
        built = self.describe_build()["built_for"]
        if devices[0].platform == "cpu":
            if self.args.device != "cpu" and built != "cpu":
                raise Wrong(
                    "not-available",
                    f"a plugin for {built} is installed and JAX lists {devices}",
                    masks=hip.visibility_variables(),
                )
            why = "asked for" if self.args.device == "cpu" else "no plugin for a GPU is installed"
            return {"kind": "cpu", "count": 1, "why": why, "threads": os.cpu_count()}
        if self.args.gpu >= len(devices):
            raise Wrong(
                "no-such-index",
                f"GPU {self.args.gpu} was requested, but JAX lists {len(devices)}",
                masks=hip.visibility_variables(),
            )
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
            "masks": hip.visibility_variables(),
        }

    def full_precision(self) -> Any:
        return self.lib.default_matmul_precision("highest")

    def put(self, value: Any) -> Any:
        return self.lib.numpy.array(value, copy=True)

    def copy_on_device(self, value: Any) -> Any:
        return self.lib.numpy.copy(value)

    def get(self, value: Any) -> Any:
        return self.np.array(value)

    def wait(self, value: Any) -> None:
        self.lib.block_until_ready(value)

    def sync(self) -> None:
        if self.device is not None:
            self.wait(self.lib.numpy.zeros(()) + 1)

    def compile(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            result, back = self.lib.vjp(function, *operands)
            return result, list(back(self.lib.numpy.ones_like(result) if pull is None else pull))

        made: Callable[..., tuple[Any, list[Any]]] = self.lib.jit(both)
        return made

    @contextlib.contextmanager
    def use_float64(self) -> Iterator[None]:
        jax = self.lib
        double = jax.enable_x64 if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental").enable_x64
        with double(True), jax.default_device(jax.devices("cpu")[0]):
            yield

    def attend(self, backend: str, q: Any, k: Any, v: Any, causal: bool) -> Any:
        fused = getattr(self.lib.nn, "dot_product_attention", None)
        if backend != "flash" or not self.on_gpu or fused is None or self.describe_build()["built_for"] == "rocm":
            return super().attend(backend, q, k, v, causal)
        try:
            return self.ops.heads(fused(*map(self.ops.heads, (q, k, v)), is_causal=causal, implementation="cudnn"))
        except (ValueError, NotImplementedError, RuntimeError) as error:
            if any(words in str(error).lower() for words in NO_FUSED):
                raise NoKernel(str(error)[:500]) from None
            raise


def operations(jax: Any) -> SimpleNamespace:
    """JAX's functions by the names that the stages use."""
    jnp, lax = jax.numpy, jax.lax

    def cross_entropy(x: Any, places: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.asarray(places)[:, None], axis=1)[:, 0]

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
        **vars(norms(jnp.mean, lax.rsqrt)),
    )
