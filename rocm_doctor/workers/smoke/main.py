"""The worker's loop: run the requested stages and append one JSON line per event to the results file.

Lines are appended with `os.write`, unbuffered, so that the last stage that began is known after any death. Nothing is read
from standard output, which belongs to the libraries under test.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import importlib
import json
import math
import os
import platform
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .compare import Skip, Wrong
from .table import BY_NAME, all_needs

TRACEBACK_CHARS = 3000
THREADS = 4
"""Threads for the CPU's part. Children for several GPUs run side by side, and small products wait for one another with more."""


class StageContext:
    """The context of a stage: torch, the device, seeded random numbers, and progress reports."""

    def __init__(self, args: argparse.Namespace, emit: Callable[..., None]) -> None:
        self.args = args
        self.emit = emit
        self.torch: Any = None
        self.device: Any = None
        self.stage = ""
        self.level: int = args.level
        self.rank: int = args.rank
        self.world: int = args.world
        self._generator: Any = None
        self._seeded_for = ""
        self._kept: dict[str, Any] = {}

    @property
    def on_gpu(self) -> bool:
        """True if the device under test is a GPU."""
        return self.device is not None and self.device.type != "cpu"

    def load(self) -> Any:
        """torch, imported on first use; a child that starts in the middle of the table has to import it as well."""
        if self.torch is None:
            self.torch = importlib.import_module("torch")
            self.torch.set_num_threads(min(THREADS, self.torch.get_num_threads()))
            self.device = self.torch.device(pick_device(self.torch, self.args.device, self.args.gpu))
        return self.torch

    def take_device(self) -> None:
        """Make the GPU under test the current one of this process: the first contact with the runtime."""
        if self.on_gpu:
            self.torch.cuda.set_device(self.device)

    def doing(self, what: str) -> None:
        """Say what is being waited for, should it take long."""
        self.emit(event="doing", stage=self.stage, text=what)

    def random(self, *shape: int, dtype: Any = None) -> Any:
        """The stage's next normal random numbers, on the CPU, the same in every run; rounded to `dtype` when given."""
        made = self.torch.randn(*shape, generator=self.generator)
        return made if dtype is None else made.to(dtype)

    @property
    def generator(self) -> Any:
        """One source of random numbers for each stage, so that a stage run alone sees what it sees among the others."""
        if self._seeded_for != self.stage:
            self._generator = self.torch.Generator().manual_seed(zlib.crc32(self.stage.encode()))
            self._seeded_for = self.stage
        return self._generator

    def put(self, tensor: Any) -> Any:
        """A fresh copy on the device, also where the device is the CPU."""
        return self.torch.empty_like(tensor, device=self.device).copy_(tensor)

    def sync(self) -> None:
        """Wait for the device."""
        if self.on_gpu and self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize(self.device)

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


def pick_device(torch: Any, wanted: str, index: int) -> str:
    """The device to test: the GPU where torch was built for one, else the CPU."""
    if wanted == "cpu":
        return "cpu"
    built_for_gpu = bool(getattr(torch.version, "hip", None) or torch.version.cuda)
    return f"cuda:{index}" if wanted == "cuda" or built_for_gpu else "cpu"


def plain(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinity as words, everything unknown as its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


def emitter(path: str) -> Callable[..., None]:
    """A function that appends one event as one line to the results file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def emit(**event: Any) -> None:
        os.write(descriptor, (json.dumps(plain(event)) + "\n").encode())

    return emit


_FULL = ("No space left on device", "Disk quota exceeded", "os error 28", "os error 122", "[Errno 28]", "[Errno 122]")


def outcome(context: StageContext, function: Callable[[StageContext], dict[str, Any] | None]) -> dict[str, Any]:
    """Run one stage; its end event. The one place where any exception is caught: it is the stage's result."""
    try:
        details = function(context) or {}
        context.sync()
        return {"status": "passed", "details": details}
    except Skip as skip:
        return {"status": "skipped", "reason": skip.reason, "message": str(skip)}
    except Wrong as wrong:
        return {"status": "failed", "reason": wrong.reason, "message": str(wrong), "details": wrong.details}
    except Exception as error:
        if any(words in str(error) for words in _FULL):
            # The tested software is not to blame. safetensors words the system's error number in its own way.
            return {"status": "skipped", "reason": "disk-full", "message": f"no space left for temporary files: {error}"[:1000]}
        text = traceback.format_exc()[-TRACEBACK_CHARS:]
        return {"status": "failed", "reason": type(error).__name__, "message": str(error)[:1000], "traceback": text}


def run_stage(context: StageContext, name: str, functions: dict[str, Callable[[StageContext], Any]]) -> dict[str, Any]:
    """One stage from its start line to its end line."""
    context.stage = name
    context.emit(event="start", stage=name)
    began = time.perf_counter()
    end = outcome(context, functions.get(name) or stage_function(name))
    context.emit(event="end", stage=name, seconds=round(time.perf_counter() - began, 3), **end)
    return end


def stage_function(name: str) -> Callable[[StageContext], Any]:
    """The function of a stage."""
    stage = BY_NAME[name]

    def function(context: StageContext) -> Any:
        if name not in ("import", "device"):  # these two begin what the others find begun
            context.load()
            context.take_device()
        module = importlib.import_module("." + stage.module, __package__)
        return getattr(module, stage.function)(context)

    return function


def unfit(context: StageContext, end: dict[str, Any]) -> bool:
    """True if no further stage may run in this process: after an exception on a GPU its context may be dead for good."""
    return context.on_gpu and "traceback" in end


def tidy(context: StageContext) -> None:
    """Free the memory of a stage."""
    gc.collect()
    if context.on_gpu:
        context.torch.cuda.empty_cache()


def work(context: StageContext, stages: Sequence[str], functions: dict[str, Callable[[StageContext], Any]]) -> None:
    """All stages, one after the other; one whose need has failed or was skipped here is left to the runner to explain."""
    barred: list[str] = []
    for name in stages:
        if any(need in barred for need in all_needs(name)):
            barred.append(name)
            continue
        end = run_stage(context, name, functions)
        if end["status"] != "passed":
            barred.append(name)
        if unfit(context, end):
            context.emit(event="leave", why="an exception on the GPU may have spoilt this process")
            return
        tidy(context)
    context.emit(event="bye")


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The command line of the worker."""
    parser = argparse.ArgumentParser(prog="smoke-worker", description="Runs stages of the smoke test in this interpreter.")
    parser.add_argument("--results", required=True, help="file that events are appended to")
    parser.add_argument("--stages", required=True, help="stage names, separated by commas")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--gpu", type=int, default=0, help="index of the GPU as torch counts")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--port", type=int, default=0, help="TCP port on which the ranks of a group meet")
    parser.add_argument("--prelude", help="Python file run first, with `stages` (name -> function) to replace; for tests")
    return parser.parse_args(argv)


def prepare_signals() -> None:
    """Python stacks on stderr when the process crashes, and when the runner asks what it hangs in."""
    faulthandler.enable()
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)


def die_with_parent() -> None:
    """On Linux the kernel ends this process when the runner goes away, even by SIGKILL (prctl, option PR_SET_PDEATHSIG = 1)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main(argv: Sequence[str]) -> None:
    """Entry point of the worker."""
    prepare_signals()
    die_with_parent()
    args = arguments(argv)
    emit = emitter(args.results)
    emit(event="hello", pid=os.getpid(), python=platform.python_version(), executable=sys.executable, rank=args.rank)
    functions: dict[str, Callable[[StageContext], Any]] = {}
    context = StageContext(args, emit)
    if args.prelude:
        text = Path(args.prelude).read_text(encoding="utf-8")
        exec(compile(text, args.prelude, "exec"), {"stages": functions, "bench": context})
    work(context, args.stages.split(","), functions)
