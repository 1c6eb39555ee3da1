"""The context of a stage: the framework under test, its device, seeded random numbers, progress reports.

`Context` is what every framework has. torch's is here; those of JAX and TensorFlow share `arrays/context.py`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time
import zlib
from collections.abc import Callable
from typing import Any

THREADS = 4
"""Threads for the CPU's part. Children for several GPUs run side by side, and small products wait for one another with more."""


class Context:
    """What the loop and the stages ask of every framework."""

    on_gpu = False
    """True if the device under test is a GPU."""

    def __init__(self, args: argparse.Namespace, emit: Callable[..., None]) -> None:
        self.args = args
        self.emit = emit
        self.stage = ""
        self.framework: str = args.framework
        self.level: int = args.level
        self.rank: int = args.rank
        self.world: int = args.world
        self._generator: Any = None
        self._seeded_for = ""
        self._kept: dict[str, Any] = {}

    def load(self) -> Any:
        """The framework, imported on first use; a child that starts in the middle of the table has to import it as well."""
        raise NotImplementedError

    def take_device(self) -> None:
        """Make the device under test the current one of this process: the first contact with the runtime."""

    def sync(self) -> None:
        """Wait for the device."""

    def tidy(self) -> None:
        """Free the memory of a stage."""
        gc.collect()

    def seeded(self, seed: int) -> Any:
        """A generator of random numbers."""
        raise NotImplementedError

    @property
    def generator(self) -> Any:
        """One source of random numbers for each stage, so that a stage run alone sees what it sees among the others."""
        if self._seeded_for != self.stage:
            self._generator = self.seeded(zlib.crc32(self.stage.encode()))
            self._seeded_for = self.stage
        return self._generator

    def doing(self, what: str) -> None:
        """Say what is being waited for, should it take long."""
        self.emit(event="doing", stage=self.stage, text=what)

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """Something that is made once and lives as long as the process."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def clock(self, action: Callable[[], Any], repeat: int = 1) -> float:
        """Seconds of one call, device work included."""
        self.sync()
        began = time.perf_counter()
        for _ in range(repeat):
            action()
        self.sync()
        return (time.perf_counter() - began) / repeat


class StageContext(Context):
    """torch."""

    def __init__(self, args: argparse.Namespace, emit: Callable[..., None]) -> None:
        super().__init__(args, emit)
        self.torch: Any = None
        self.device: Any = None

    @property
    def on_gpu(self) -> bool:  # type: ignore[override]
        """True if the device under test is a GPU."""
        return self.device is not None and self.device.type != "cpu"

    def load(self) -> Any:
        if self.torch is None:
            self.torch = importlib.import_module("torch")
            self.torch.set_num_threads(min(THREADS, self.torch.get_num_threads()))
            self.device = self.torch.device(pick_device(self.torch, self.args.device, self.args.gpu))
        return self.torch

    def take_device(self) -> None:
        if self.on_gpu:
            self.torch.cuda.set_device(self.device)

    def seeded(self, seed: int) -> Any:
        return self.torch.Generator().manual_seed(seed)

    def random(self, *shape: int, dtype: Any = None) -> Any:
        """The stage's next normal random numbers, on the CPU, the same in every run; rounded to `dtype` when given."""
        made = self.torch.randn(*shape, generator=self.generator)
        return made if dtype is None else made.to(dtype)

    def put(self, tensor: Any) -> Any:
        """A fresh copy on the device, also where the device is the CPU."""
        return self.torch.empty_like(tensor, device=self.device).copy_(tensor)

    def sync(self) -> None:
        if self.on_gpu and self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize(self.device)

    def tidy(self) -> None:
        super().tidy()
        if self.on_gpu:
            self.torch.cuda.empty_cache()


def pick_device(torch: Any, wanted: str, index: int) -> str:
    """The device to test: the GPU where torch was built for one, else the CPU."""
    if wanted == "cpu":
        return "cpu"
    built_for_gpu = bool(getattr(torch.version, "hip", None) or torch.version.cuda)
    return f"cuda:{index}" if wanted == "cuda" or built_for_gpu else "cpu"
