"""TensorFlow: what it does in its own way. On AMD GPUs it is AMD's tensorflow-rocm; **unproven on AMD hardware**."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .. import hip
from ..compare import Skip, Wrong
from .basics import not_available
from .context import CPU_DEVICES, ArrayContext, temporary_setting


class TensorflowContext(ArrayContext):
    """TensorFlow on one device; `sharding` takes all of them (MirroredStrategy)."""

    package = "tensorflow"
    plugins = ("tensorflow",)
    sum_steps = 16.0
    """Eigen adds in the operands' own 16-bit format on the CPU, pairwise: log2(4099) is 12 roundings, and 4 for the quotient."""
    device = ""

    def load(self) -> Any:
        if self.lib is None:
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
            # Without this TensorFlow takes the whole GPU's memory, which other queues need.
            os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
            self.lib = importlib.import_module("tensorflow")
            self.np = importlib.import_module("numpy")
            self.ops = operations(self.lib)
            config = self.lib.config
            if self.args.device == "cpu":
                config.set_visible_devices([], "GPU")
            config.set_logical_device_configuration(
                config.list_physical_devices("CPU")[0], [config.LogicalDeviceConfiguration()] * CPU_DEVICES
            )
        return self.lib

    def about(self) -> dict[str, Any]:
        build = dict(self.lib.sysconfig.get_build_info())
        built = "rocm" if self._rocm() else "cuda" if build.get("is_cuda_build") else "cpu"
        return {
            "tensorflow": str(self.lib.__version__),
            "plugins": self.versions(),
            "built_for": built,
            "hip": build.get("rocm_version"),
        }

    def _rocm(self) -> bool:
        return bool(self.lib.test.is_built_with_rocm())

    def _gpus(self) -> list[Any]:
        return list(self.lib.config.get_visible_devices("GPU"))

    def take_device(self) -> None:
        if not self.device:
            self.on_gpu = bool(self._gpus())
            self.device = f"/GPU:{self.args.gpu}" if self.on_gpu else "/CPU:0"

    def describe(self) -> dict[str, Any]:
        gpus = self._gpus()
        if not gpus:
            if self.args.device == "cuda" or (self.args.device == "auto" and self._rocm()):
                raise not_available("TensorFlow lists no GPU", masks=hip.masks())
            why = "asked for" if self.args.device == "cpu" else "TensorFlow lists no GPU"
            return {"kind": "cpu", "count": 1, "why": why, "threads": os.cpu_count()}
        if self.args.gpu >= len(gpus):
            raise Wrong(
                "no-such-index", f"GPU {self.args.gpu} was requested, but TensorFlow lists {len(gpus)}", masks=hip.masks()
            )
        self.take_device()
        found = self.lib.config.experimental.get_device_details(gpus[self.args.gpu])
        return {
            "kind": "hip" if self._rocm() else "cuda",
            "name": found.get("device_name"),
            "architecture": str(found.get("compute_capability", "")),
            "count": len(gpus),
            "index": self.args.gpu,
            "masks": hip.masks(),
        }

    def put(self, array: Any) -> Any:
        with self.lib.device(self.device):
            return self.lib.identity(self.lib.convert_to_tensor(array))

    def copied(self, value: Any) -> Any:
        with self.lib.device(self.device):
            return self.lib.identity(value)

    def get(self, value: Any) -> Any:
        return value.numpy() if hasattr(value, "numpy") else self.np.asarray(value)

    def wait(self, value: Any) -> None:
        self.get(self.lib.reshape(value, [-1])[:1])

    def sync(self) -> None:
        if self.device:
            self.lib.test.experimental.sync_devices()

    def compiled(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        tf = self.lib

        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            with tf.device(self.device), tf.GradientTape() as tape:
                tape.watch(operands)
                result = function(*operands)
            made = tape.gradient(result, operands, output_gradients=pull)
            return result, [tf.convert_to_tensor(one) for one in made]

        made: Callable[..., tuple[Any, list[Any]]] = tf.function(both, autograph=False)
        return lambda operands, pull: made(list(operands), pull)

    def precision(self, wanted: str) -> Any:
        choice = self.lib.config.experimental
        return temporary_setting(
            choice.tensor_float_32_execution_enabled, choice.enable_tensor_float_32_execution, wanted == "high"
        )

    def fused_attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        raise Skip("no-choice", "TensorFlow has no fused attention to choose")

    def device_count(self) -> int:
        return len(self._gpus()) or len(self.lib.config.list_logical_devices("CPU"))

    def sharded_step(self, parts: dict[str, Any], x: Any, y: Any, loss: Callable[..., Any]) -> tuple[float, dict[str, Any]]:
        tf, count = self.lib, self.device_count()
        kind = "GPU" if self._gpus() else "CPU"
        strategy = tf.distribute.MirroredStrategy([f"/{kind}:{n}" for n in range(count)])
        adapters = [tf.convert_to_tensor(part) for part in parts.values()]

        def replica(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(adapters)
                value = loss(*adapters, x, y)
            made = [tf.convert_to_tensor(one) for one in tape.gradient(value, adapters)]
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, [value, *made])

        rows = [
            strategy.experimental_distribute_values_from_function(
                lambda place, data=data: tf.convert_to_tensor(self.np.split(data, count)[place.replica_id_in_sync_group])
            )
            for data in (x, y)
        ]
        value, *gradients = strategy.run(tf.function(replica, autograph=False), args=tuple(rows))
        first = [strategy.experimental_local_results(one)[0] for one in (value, *gradients)]
        return float(first[0]), dict(zip(parts, first[1:]))


def operations(tf: Any) -> SimpleNamespace:
    """TensorFlow's functions by the names that the stages use."""

    def swap(x: Any) -> Any:
        x = tf.convert_to_tensor(x)
        return tf.linalg.matrix_transpose(x) if len(x.shape) > 1 else x

    return SimpleNamespace(
        softmax=tf.nn.softmax,
        gelu=lambda x: tf.nn.gelu(x, approximate=True),
        silu=tf.nn.silu,
        mean=tf.reduce_mean,
        sum=tf.reduce_sum,
        rsqrt=tf.math.rsqrt,
        where=tf.where,
        take=tf.gather,
        swap=swap,
        cast=lambda x, dtype: tf.cast(tf.convert_to_tensor(x), dtype),
        cross_entropy=lambda x, places: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=places, logits=x),
        conv2d=lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="SAME"),
    )
