"""The worker's loop: run the requested stages and append one JSON line per event to the results file.

Lines are appended with `os.write`, unbuffered, so that the last stage that began is known after any death. Nothing is read
from standard output, which belongs to the libraries under test.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import math
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .compare import Skip, Wrong
from .context import Context
from .table import all_needs, stage_table

TRACEBACK_CHARS = 3000
CONTEXTS = {"torch": (".on_torch", "TorchContext"), "jax": (".on_jax", "JaxContext")}
"""Module and class of the context for each framework."""


def as_json(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinity as words, everything unknown as its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


def emitter(path: str) -> Callable[..., None]:
    """A function that appends one event as one line to the results file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def emit(**event: Any) -> None:
        os.write(descriptor, (json.dumps(as_json(event)) + "\n").encode())

    return emit


_FULL = ("No space left on device", "Disk quota exceeded", "os error 28", "os error 122", "[Errno 28]", "[Errno 122]")


def outcome(context: Context, function: Callable[[Context], dict[str, Any] | None]) -> dict[str, Any]:
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
        if "not implemented for" in str(error) and not context.on_gpu:  # of an old CPU build, which says nothing about a GPU
            return {"status": "skipped", "reason": "not-implemented", "message": str(error)[:1000]}
        if any(words in str(error) for words in _FULL):
            # The tested software is not to blame. safetensors words the system's error number in its own way.
            return {"status": "skipped", "reason": "disk-full", "message": f"no space left for temporary files: {error}"[:1000]}
        text = traceback.format_exc()[-TRACEBACK_CHARS:]
        return {"status": "failed", "reason": type(error).__name__, "message": str(error)[:1000], "traceback": text}


def run_stage(context: Context, name: str, functions: dict[str, Callable[[Context], Any]]) -> dict[str, Any]:
    """One stage from its start line to its end line."""

    def begin_stage(context: Context) -> Any:
        if name not in ("import", "device"):  # these two begin what the others find begun
            context.load()
            context.take_device()
        return stage_table(context.framework)[name](context)

    context.stage = name
    context.emit(event="start", stage=name)
    began = time.perf_counter()
    end = outcome(context, functions.get(name) or begin_stage)
    context.emit(event="end", stage=name, seconds=round(time.perf_counter() - began, 3), **end)
    return end


def must_leave(context: Context, end: dict[str, Any]) -> bool:
    """True if no further stage may run in this process: after an exception on a GPU its context may be dead for good."""
    return context.on_gpu and "traceback" in end


def work(context: Context, stages: Sequence[str], functions: dict[str, Callable[[Context], Any]]) -> None:
    """All stages, one after the other; one whose need has failed or was skipped here is left to the runner to explain."""
    barred: list[str] = []
    for name in stages:
        if any(need in barred for need in all_needs(name, context.framework)):
            barred.append(name)
            continue
        end = run_stage(context, name, functions)
        if end["status"] != "passed":
            barred.append(name)
        if must_leave(context, end):
            context.emit(event="leave", why="an exception on the GPU may have spoilt this process")
            return
        context.tidy()
    context.emit(event="bye")


def prepare_signals() -> None:
    """Python stacks on stderr when the process crashes, and when the runner asks what it hangs in."""
    faulthandler.enable()
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)


def main(argv: Sequence[str]) -> None:
    """Entry point of the worker. Its argument is JSON: `results`, the file that events are appended to; `stages`, their names; `framework`;
    `device`, auto, cpu or cuda; `gpu`, its index as the framework counts; `level`; `prelude`, null or a Python file that is run first with
    `stages` (name -> function) to replace, for tests."""
    prepare_signals()
    args = SimpleNamespace(**json.loads(argv[0]))
    emit = emitter(args.results)
    emit(event="hello", pid=os.getpid(), python=platform.python_version(), executable=sys.executable)
    functions: dict[str, Callable[[Context], Any]] = {}
    module, name = CONTEXTS[args.framework]
    context: Context = getattr(importlib.import_module(module, __package__), name)(args, emit)
    if args.prelude:
        text = Path(args.prelude).read_text(encoding="utf-8")
        exec(compile(text, args.prelude, "exec"), {"stages": functions, "bench": context})
    work(context, args.stages, functions)
