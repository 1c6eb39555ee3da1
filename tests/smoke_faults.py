"""A prelude for the smoke worker that needs no torch: every stage is a stand-in, and the one named in FAULT goes wrong.

`FAULT` in the environment: `stage fault`. The stand-in of `device` claims a HIP GPU, so that the rows about GPUs judge the
outcome.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

stages: dict[str, Any] = globals()["stages"]
PAGE_FAULT = (
    "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present or supervisor privilege."
)


def fine(bench: Any) -> dict[str, Any]:
    return {"stand-in": True}


def hip_gpu(bench: Any) -> dict[str, Any]:
    return {"kind": "hip", "name": "stand-in for a GPU", "count": 1, "masks": {}}


def two_gpus(bench: Any) -> dict[str, Any]:
    return dict(hip_gpu(bench), count=2)


def second_gpu_dies(bench: Any) -> dict[str, Any]:
    if bench.args.gpu == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def send(number: int) -> Callable[[Any], None]:
    return lambda bench: os.kill(os.getpid(), number)


def page_fault(bench: Any) -> None:
    print(PAGE_FAULT, file=sys.stderr, flush=True)
    os.abort()


def silence(bench: Any) -> None:
    os._exit(0)


def garbage(bench: Any) -> dict[str, Any]:
    os.write(1, b'{"event": "end", "stage": "fp16", "status": "failed"}\n\xff\x00garbage' * 1000)
    return {}


def flood(bench: Any) -> None:
    line = (b"x" * 1023 + b"\n") * 1024
    for _ in range(64):
        os.write(2, line)
    os.write(2, b"rocBLAS error: the last words\n")
    os.abort()


def hang(bench: Any) -> None:
    bench.report("counting sheep")
    time.sleep(600)


def deaf(bench: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang(bench)


def orphan(bench: Any) -> dict[str, Any]:
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    return {}


def raises(bench: Any) -> None:
    raise RuntimeError("HIP error: invalid device function\nCompile with TORCH_USE_HIP_DSA to enable device-side assertions.")


FAULTS: dict[str, Callable[[Any], Any]] = {
    "segv": send(signal.SIGSEGV),
    "page-fault": page_fault,
    "oom-killer": send(signal.SIGKILL),
    "silence": silence,
    "garbage": garbage,
    "flood": flood,
    "hang": hang,
    "deaf": deaf,
    "orphan": orphan,
    "raises": raises,
    "two-gpus": two_gpus,
    "second-gpu-dies": second_gpu_dies,
}

for name in next(module for path, module in sys.modules.items() if path.endswith(".smoke.table")).BY_NAME:
    stages[name] = hip_gpu if name == "device" else fine
for line in os.environ.get("FAULT", "").splitlines():
    stages[line.split()[0]] = FAULTS[line.split()[1]]
