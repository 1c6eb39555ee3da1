"""JAX: what it does in its own way. Plugins bring the GPU: jax-rocm7-plugin and jax-rocm7-pjrt, or jax-cuda12-plugin.

Source for what is particular to ROCm: JAX's installation guide and the ROCm plugin's documentation; **unproven on AMD hardware**.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .. import hip
from ..attention import NoKernel
from ..compare import Skip, Wrong
from .basics import not_available
from .context import CPU_DEVICES, ArrayContext

PRECISION = {"highest": "highest", "high": "tensorfloat32"}
NO_FUSED = ("cudnn", "not supported", "unsupported", "not implemented")
"""Words of JAX's refusals of a fused kernel, in lower case."""


class JaxContext(ArrayContext):
    """JAX on one device; `sharding` takes all of them."""

    package = "jax"
    plugins = ("jax-rocm", "jax-cuda", "jaxlib")
    device: Any = None

    def load(self) -> Any:
        if self.lib is None:
            # Without this JAX takes three quarters of the GPU's memory, which other queues need.
            os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
            if self.args.device == "cpu":
                os.environ["JAX_PLATFORMS"] = "cpu"
            self.lib = importlib.import_module("jax")
            self.np = importlib.import_module("numpy")
            if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", "") and hasattr(
                self.lib.config, "jax_num_cpu_devices"
            ):
                self.lib.config.update("jax_num_cpu_devices", CPU_DEVICES)
            self.ops = operations(self.lib)
        return self.lib

    def about(self) -> dict[str, Any]:
        versions = self.versions()
        built = next((kind for kind in ("rocm", "cuda") if any(kind in name for name in versions)), "cpu")
        return {"jax": str(self.lib.__version__), "plugins": versions, "built_for": built}

    def take_device(self) -> None:
        if self.device is None:
            self.device = self._devices()[self.args.gpu if self._on_gpu() else 0]
            self.on_gpu = self._on_gpu()
            self.lib.config.update("jax_default_device", self.device)

    def _devices(self) -> list[Any]:
        return list(self.lib.devices("gpu") if self.args.device == "cuda" else self.lib.devices())

    def _on_gpu(self) -> bool:
        return bool(self._devices()[0].platform != "cpu")

    def describe(self) -> dict[str, Any]:
        try:
            devices = self._devices()
        except RuntimeError as error:
            raise not_available(str(error), masks=hip.masks()) from None
        built = self.about()["built_for"]
        if not self._on_gpu():
            if self.args.device != "cpu" and built != "cpu":
                raise not_available(f"a plugin for {built} is installed and JAX lists {devices}", masks=hip.masks())
            why = "asked for" if self.args.device == "cpu" else "no plugin for a GPU is installed"
            return {"kind": "cpu", "count": 1, "why": why, "threads": os.cpu_count()}
        if self.args.gpu >= len(devices):
            raise Wrong("no-such-index", f"GPU {self.args.gpu} was requested, but JAX lists {len(devices)}", masks=hip.masks())
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
            "masks": hip.masks(),
        }

    def put(self, array: Any) -> Any:
        return self.lib.numpy.array(array, copy=True)

    def copied(self, value: Any) -> Any:
        return self.lib.numpy.copy(value)

    def get(self, value: Any) -> Any:
        return self.np.array(value)

    def wait(self, value: Any) -> None:
        self.lib.block_until_ready(value)

    def sync(self) -> None:
        if self.device is not None:
            self.wait(self.lib.numpy.zeros(()) + 1)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            result, back = self.lib.vjp(function, *operands)
            return result, list(back(pull))

        made: Callable[..., tuple[Any, list[Any]]] = self.lib.jit(both)
        return made

    def precision(self, wanted: str) -> Any:
        return self.lib.default_matmul_precision(PRECISION[wanted])

    def fused_attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        if not self.on_gpu:
            raise Skip("no-choice", "JAX has no fused attention for the CPU")
        fused = getattr(self.lib.nn, "dot_product_attention", None)
        if fused is None or self.about()["built_for"] == "rocm":
            raise Skip("no-choice", "this JAX has no fused attention to choose for this device")
        try:
            return self.ops.heads(fused(*map(self.ops.heads, (q, k, v)), is_causal=causal, implementation="cudnn"))
        except (ValueError, NotImplementedError, RuntimeError) as error:
            if any(words in str(error).lower() for words in NO_FUSED):
                raise NoKernel(str(error)[:500]) from None
            raise

    def keep_compiled(self, folder: str) -> None:
        for name, value in (
            ("jax_compilation_cache_dir", folder),
            ("jax_persistent_cache_min_compile_time_secs", 0),
            ("jax_persistent_cache_min_entry_size_bytes", -1),
        ):
            self.lib.config.update(name, value)

    def device_count(self) -> int:
        return len(self._devices())

    def sharded_step(self, parts: dict[str, Any], x: Any, y: Any, loss: Callable[..., Any]) -> tuple[float, dict[str, Any]]:
        jax, sharding = self.lib, self.lib.sharding
        mesh = sharding.Mesh(self.np.array(self._devices()), ("data",))
        rows, whole = (sharding.NamedSharding(mesh, sharding.PartitionSpec(*axes)) for axes in (("data",), ()))
        adapters = [jax.device_put(part, whole) for part in parts.values()]
        step = jax.jit(jax.value_and_grad(lambda some, x, y: loss(*some, x, y)))
        value, gradients = step(adapters, jax.device_put(x, rows), jax.device_put(y, rows))
        return float(value), dict(zip(parts, gradients))


def operations(jax: Any) -> SimpleNamespace:
    """JAX's functions by the names that the stages use."""
    jnp, lax = jax.numpy, jax.lax

    def cross_entropy(x: Any, places: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.asarray(places)[:, None], axis=1)[:, 0]

    return SimpleNamespace(
        softmax=jax.nn.softmax,
        gelu=lambda x: jax.nn.gelu(x, approximate=True),
        silu=jax.nn.silu,
        mean=jnp.mean,
        sum=jnp.sum,
        rsqrt=lax.rsqrt,
        where=jnp.where,
        take=lambda table, places: jnp.take(table, jnp.asarray(places), axis=0),
        swap=lambda x: jnp.swapaxes(jnp.asarray(x), -1, -2),
        heads=lambda x: jnp.swapaxes(x, 1, 2),
        cast=lambda x, dtype: jnp.asarray(x).astype(dtype),
        cross_entropy=cross_entropy,
        conv2d=lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
    )
