"""How fast is `rocm-doctor check --no-smoke`, beside `python -m torch.utils.collect_env` in the same run?

    python scripts/bench_check.py [--runs 15]

Commands run in turn, so that a machine that drifts drifts for all of them; medians and the median of the pairwise ratios are
printed. Peak memory is the operating system's figure for the finished child. Aims: check 150 ms, 45 MiB, 8 times faster;
check --gpu 500 ms; --help 100 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

COMMANDS = {
    "check": [sys.executable, "-m", "rocm_doctor", "check", "--no-smoke"],
    "gate": [sys.executable, "-m", "rocm_doctor", "check", "--gpu", "gfx1100", "--python", sys.executable],
    "help": [sys.executable, "-m", "rocm_doctor", "--help"],
    "collect_env": [sys.executable, "-m", "torch.utils.collect_env"],
    "python": [sys.executable, "-c", "pass"],
}
HEAVY = ("torch", "transformers", "peft", "yaml", "importlib.metadata")


class Run(NamedTuple):
    seconds: float
    mebibytes: float


def once(argv: list[str]) -> Run:
    """Wall seconds and peak resident memory of one run."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return Run(time.perf_counter() - start, usage.ru_maxrss / 1024)


def imported() -> list[str]:
    """Heavy modules that `check --no-smoke` imported (should be none)."""
    argv = [sys.executable, "-X", "importtime", *COMMANDS["check"][1:]]
    text = subprocess.run(argv, capture_output=True, text=True, check=False).stderr
    names = {line.rpartition("|")[2].strip() for line in text.splitlines() if line.startswith("import time:")}
    return sorted(name for name in HEAVY if name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    for argv in COMMANDS.values():
        once(argv)
    taken = {name: [] for name in COMMANDS}  # type: dict[str, list[Run]]
    for _ in range(runs):
        for name, argv in COMMANDS.items():
            taken[name].append(once(argv))
    for name, all_runs in taken.items():
        times = [r.seconds * 1000 for r in all_runs]
        peak = max(r.mebibytes for r in all_runs)
        spread = f"min {min(times):7.1f}  max {max(times):7.1f}"
        print(f"{name:12} median {statistics.median(times):7.1f} ms  {spread}  peak {peak:6.1f} MiB")
    ratio = statistics.median(slow.seconds / fast.seconds for slow, fast in zip(taken["collect_env"], taken["check"]))
    print(f"collect_env / check: {ratio:.1f} times (median of {runs} pairs)")
    print(f"heavy modules imported by check: {', '.join(imported()) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
