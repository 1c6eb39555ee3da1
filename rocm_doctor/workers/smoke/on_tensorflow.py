"""TensorFlow: its devices, tensors, compiled functions. On AMD GPUs it is AMD's tensorflow-rocm; **unproven on AMD hardware**."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from . import hip
from .compare import Wrong
from .context import temporary_setting
from .on_arrays import ArrayContext, norms


class TensorflowContext(ArrayContext):
    """TensorFlow on one device."""

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
            if self.args.device == "cpu":
                self.lib.config.set_visible_devices([], "GPU")
        return self.lib

    def describe_build(self) -> dict[str, Any]:
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
                raise Wrong("not-available", "TensorFlow lists no GPU", masks=hip.visibility_variables())
            why = "asked for" if self.args.device == "cpu" else "TensorFlow lists no GPU"
            return {"kind": "cpu", "count": 1, "why": why, "threads": os.cpu_count()}
        if self.args.gpu >= len(gpus):
            raise Wrong(
                "no-such-index",
                f"GPU {self.args.gpu} was requested, but TensorFlow lists {len(gpus)}",
                masks=hip.visibility_variables(),
            )
        self.take_device()
        found = self.lib.config.experimental.get_device_details(gpus[self.args.gpu])
        return {
            "kind": "hip" if self._rocm() else "cuda",
            "name": found.get("device_name"),
            "architecture": str(found.get("compute_capability", "")),
            "count": len(gpus),
            "index": self.args.gpu,
            "masks": hip.visibility_variables(),
        }

    def full_precision(self) -> Any:
        choice = self.lib.config.experimental
        return temporary_setting(choice.tensor_float_32_execution_enabled, choice.enable_tensor_float_32_execution, False)

    def put(self, value: Any) -> Any:
        with self.lib.device(self.device):
            return self.lib.identity(self.lib.convert_to_tensor(value))

    def copy_on_device(self, value: Any) -> Any:
        with self.lib.device(self.device):
            return self.lib.identity(value)

    def get(self, value: Any) -> Any:
        return value.numpy() if hasattr(value, "numpy") else self.np.asarray(value)

    def wait(self, value: Any) -> None:
        self.get(self.lib.reshape(value, [-1])[:1])

    def sync(self) -> None:
        if self.device:
            self.lib.test.experimental.sync_devices()

    def compile(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        tf, device = self.lib, self.device

        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            with tf.device(device), tf.GradientTape() as tape:
                tape.watch(operands)
                result = function(*operands)
            made = tape.gradient(result, operands, output_gradients=pull)
            return result, [tf.convert_to_tensor(one) for one in made]

        made: Callable[..., tuple[Any, list[Any]]] = tf.function(both, autograph=False)
        return lambda operands, pull: made([tf.convert_to_tensor(one) for one in operands], pull)

    def use_float64(self) -> Any:
        return temporary_setting(lambda: self.device, lambda device: setattr(self, "device", device), "/CPU:0")


def operations(tf: Any) -> SimpleNamespace:
    """TensorFlow's functions by the names that the stages use."""

    def swap(x: Any) -> Any:
        x = tf.convert_to_tensor(x)
        return tf.linalg.matrix_transpose(x) if len(x.shape) > 1 else x

    def causal(x: Any) -> Any:
        return tf.where(tf.linalg.band_part(tf.ones(x.shape[-2:]), -1, 0) > 0, x, tf.constant(-float("inf"), x.dtype))

    return SimpleNamespace(
        softmax=tf.nn.softmax,
        causal=causal,
        gelu=tf.nn.gelu,
        silu=tf.nn.silu,
        sum=lambda x: tf.reduce_sum(x, axis=-1),
        mean=tf.reduce_mean,
        take=tf.gather,
        swap=swap,
        cast=lambda x, dtype: tf.cast(tf.convert_to_tensor(x), dtype),
        cross_entropy=lambda x, places: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=places, logits=x),
        conv2d=lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="SAME"),
        **vars(norms(tf.reduce_mean, tf.math.rsqrt)),
    )
