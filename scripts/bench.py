"""Time and memory of what people run, beside the aims: starts, logs of 10 MB, bundles of 12 MiB, a repository of 5,000 files.

    python scripts/bench.py [NAME ...] [--runs 5]

Commands run in turn, so that a machine that drifts drifts for all of them. Each line has the medians of processor and wall time, the peak of
memory, and the ratio to the five imports that no command goes without. Ends with 1 for a command over its aim. Linux only.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_DRAW = random.Random(5)
MIB = 1 << 20
LIGHT = "import click, yaml, packaging.version, json, ctypes"

LINES: dict[str, Callable[[int], str]] = {
    "training": lambda n: f"[2026-11-20 12:{n % 60:02}:{n % 59:02}] step {n} loss {n % 97 / 97:.4f} lr 6.3e-05 tok/s {n % 999}\n",
    "kernel": lambda n: f"[{n / 1000:12.6f}] amdgpu 0000:03:00.0: amdgpu: message number {n} about ring gfx_0.0.0\n",
    "progress": lambda n: f"\x1b[32mINFO\x1b[0m step {n}/9999 [00:{n % 60:02}<01:00, {n % 13}.2it/s]\r" + "\n" * (n % 10 == 0),
    "crashes": 'Traceback (most recent call last):\n  File "/srv/train.py", line {0}, in f\nRuntimeError: HIP error: invalid device function\n'.format,
    "base64": lambda _: base64.b64encode(_DRAW.randbytes(57)).decode() + "\n",
    "short lines": lambda _: "a\n",
    "nested JSON": lambda _: '{"a":[',
    "slashes": lambda _: "/" * 76,
    "keys": lambda n: f"key{n}: {_DRAW.randbytes(12).hex()}\n",
    "prompts": lambda n: f"[u{n}x@h{n}y ~]$ ls\n",
    "NCCL": lambda n: f"node{n}a:123:12{n % 10} [0] NCCL INFO x\n",
    "emoji": lambda _: "\u0130\U0001f600",
}  # fmt: skip
FILES = (
    ("src/m{n}/code.py", "import torch\n" * 40),
    ("data/d{n}.json", '{"a": [1, 2, 3]}\n'),
    ("configs/c{n}.yaml", "base_model: x/y\nbf16: true\nadapter: lora\nload_in_4bit: false\n"),
    ("docs/page{n}.md", "# Page\n\ntext\n" * 30),
    ("examples/e{n}/requirements.txt", "torch>=2.4\ntransformers>=4.50\npeft\n"),
    ("scripts/s{n}.sh", 'set -e\nif command -v rocminfo; then export HSA_ENABLE_SDMA=0; fi\npip install -r "$1"\npython train.py\n'),
    ("docker/d{n}/Dockerfile", "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\nRUN pip install peft \\\n  trl\n"),
)  # fmt: skip


def text(kind: str, size: int) -> str:
    """`size` characters of lines of that kind."""
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(LINES[kind](len(parts)))
        length += len(parts[-1])
    return "".join(parts)[:size]


def log(kind: str, path: Path) -> None:
    """A log of 10 MB."""
    path.write_text(text(kind, 10_000_000), encoding="utf-8")


def bundle(kind: str, path: Path) -> None:
    """A bundle of 12 MiB: half a log, a part free text, and the rest under the names of tools."""
    whole = text(kind, 10 * MIB).encode()[: 11 * MIB]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, part in (("log/train.log", 2), ("ticket.txt", 6), ("cmd/rocminfo", 9), ("env", 9), ("py/packages", 9)):
            packed.writestr(name, whole[: len(whole) // part])


def repository(_: str, path: Path) -> None:
    """A folder of 5,000 files, most of them of kinds that lint does not read."""
    for n in range(5000):
        name, body = FILES[n % len(FILES)]
        file = path / name.format(n=n)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)


class Case(NamedTuple):
    """A command (`{}` is what `make` made of `kind`), and its aims in seconds of processor time and MiB."""

    words: tuple[str, ...]
    seconds: float
    mebibytes: int
    make: Callable[[str, Path], None] | None = None
    kind: str = ""


CASES: dict[str, Case] = {
    "check": Case(("check", "--no-smoke"), 0.15, 45),
    "gate": Case(("check", "--gpu", "gfx1100", "--python", sys.executable), 0.5, 100),
    "help": Case(("--help",), 0.1, 45),
    "lint": Case(("lint", "{}", "--gpu", "gfx1100", "-q"), 2, 200, repository),
    **{
        f"log: {kind}": Case(("check", "{}"), 1.5, 300, log, kind)
        for kind in ("training", "kernel", "progress", "crashes", "base64")
    },
    **{f"bundle: {kind}": Case(("check", "{}", "--format", "json"), 10, 300, bundle, kind) for kind in LINES},
}
_CHILD = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, _, used = os.wait4(child.pid, 0)
child.returncode = 0
print(json.dumps([used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024]))
"""
"""Runs a command from a small process: the peak of a child is never below that of the process that started it."""


def measure(argv: list[str]) -> tuple[float, float, float]:
    """Processor seconds, wall seconds and MiB at most of one run."""
    done = subprocess.run([sys.executable, "-c", _CHILD, *argv], capture_output=True, text=True, check=True)
    cpu, wall, memory = json.loads(done.stdout)
    return cpu, wall, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which cases; all by default: {', '.join(CASES)}")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    over = 0
    for name in args.names or CASES:
        case = CASES[name]
        with tempfile.TemporaryDirectory(prefix="rocm-doctor-bench-") as folder:
            path = Path(folder, "x.zip" if case.make is bundle else "x.log")
            if case.make:
                case.make(case.kind, path)
            argv = [sys.executable, "-m", "rocm_doctor", *(word.replace("{}", str(path)) for word in case.words)]
            measure(argv)
            pairs = [(measure(argv), measure([sys.executable, "-c", LIGHT])) for _ in range(args.runs)]
        cpu, wall, memory = (statistics.median(column) for column in zip(*(ours for ours, _ in pairs)))
        ratio = statistics.median(ours[0] / light[0] for ours, light in pairs)
        late = cpu > case.seconds or memory > case.mebibytes
        over += late
        aim = f"aim {case.seconds:g} s, {case.mebibytes} MiB{'  OVER' if late else ''}"
        print(f"{name:22} {cpu:6.2f} s CPU {wall:6.2f} s {memory:5.0f} MiB  {ratio:5.1f} x imports  {aim}", flush=True)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
