"""How fast does `rocm-doctor check` read a 10 MB log, beside `grep -F` with the same words in the same run?

    python scripts/bench_logs.py [--runs 5]

Logs of several makes are written to a temporary folder; commands run in turn, medians are printed. Aim: under a second for a log.
The last two are not logs but what people hand over by mistake: linear, and not in a second.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rocm_doctor.matrix import load
from rocm_doctor.rules.engine import failure_lines

SIZE = 10_000_000
_RANDOM = random.Random(1)
_CRASH = """Traceback (most recent call last):
  File "/srv/train.py", line {0}, in main
    trainer.train()
RuntimeError: HIP error: invalid device function
HIP kernel errors might be asynchronously reported at some other API call

"""
LINES: dict[str, Callable[[int], str]] = {
    "training": lambda n: f"[2026-11-20 12:{n % 60:02}:{n % 59:02}] step {n} loss {n % 97 / 97:.4f} lr 6.3e-05 tok/s {n % 999}\n",
    "kernel": lambda n: f"[{n / 1000:12.6f}] amdgpu 0000:03:00.0: amdgpu: message number {n} about ring gfx_0.0.0\n",
    "json": lambda n: f'{{"ts": {n * 37}, "level": "INFO", "msg": "step {n} loss {n % 97 / 97:.4f}", "gpu": "gfx1100"}}\n',
    "progress": lambda n: f"\x1b[32mINFO\x1b[0m step {n}/9999 [00:{n % 60:02}<01:00, {n % 13}.2it/s]\r" + "\n" * (n % 10 == 0),
    "crashes": _CRASH.format,
    "emoji": lambda n: f"\U0001f680 training \u2713 step {n} \u2014 loss {n % 97 / 97:.3f}\n",
    "settings": lambda n: f"HSA_OVERRIDE_GFX_VERSION=10.3.{n % 9} python train.py --seed {n}\n",
    "words": lambda n: "".join(_RANDOM.choices(string.ascii_lowercase, k=7)) + "\n "[n % 12 > 0],
    "base64": lambda _: "".join(_RANDOM.choices(string.ascii_letters + string.digits + "+/", k=76)) + "\n",
}


def written(folder: Path, name: str) -> Path:
    """A log of that make, SIZE characters long."""
    line, length = LINES[name], 0
    pieces: list[str] = []
    while length < SIZE:
        pieces.append(line(len(pieces)))
        length += len(pieces[-1])
    path = folder / f"{name}.log"
    path.write_text("".join(pieces)[:SIZE], encoding="utf-8")
    return path


def seconds(argv: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    anchors = {max(parts, key=len) for asked in failure_lines(load()).values() for parts in asked}
    with tempfile.TemporaryDirectory() as name:
        needles = Path(name, "needles")
        needles.write_text("\n".join(sorted(anchors)), encoding="utf-8")
        print(f"{os.cpu_count()} cores, {SIZE / 1e6:.0f} MB each, {len(anchors)} words looked for, medians of {runs}")
        for make in LINES:
            log = written(Path(name), make)
            check = [sys.executable, "-m", "rocm_doctor", "check", str(log)]
            grep = ["grep", "-c", "-i", "-F", "-f", str(needles), str(log)]
            pairs = [(seconds(check), seconds(grep)) for _ in range(runs)]
            ours, theirs = (statistics.median(column) for column in zip(*pairs))
            print(f"{make:10} check {ours:5.2f} s   grep -i -F {theirs:5.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
