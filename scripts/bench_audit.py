"""Time, memory and truth of the audit against `strings | grep`, on the same files in the same run.

    python scripts/bench_audit.py FOLDER [--runs 3]

FOLDER is a site-packages folder, or one with unpacked wheels. Each side runs once to warm the page cache and then `--runs` times;
the best run counts. `strings` (binutils) gets the libraries in which the audit found code and, in a second row, all there are.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocm_doctor.binaries.names import may_hold_code

_CHILD = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
from rocm_doctor.binaries import audit
a = audit.audit_environment(Path(sys.argv[1]), everything=sys.argv[2] == "all")
took = time.perf_counter() - start
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps(dict(seconds=took, peak_mib=peak / 1024, bytes=a.bytes_read, files=a.files,
                      found={h.path: h.targets for h in a.holdings if h.kind == "fatbin"},
                      broken=[h.path for h in a.holdings if h.problem])))
"""
_NAME = re.compile(r"gfx[0-9a-f]{3,4}")


def audit(folder: Path, which: str) -> dict[str, Any]:
    """One audit in a process of its own: seconds with the imports, peak memory, bytes read, targets by library."""
    said = subprocess.run([sys.executable, "-c", _CHILD, str(folder), which], capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(said)
    return result


def scan(files: list[Path]) -> dict[Path, set[str]]:
    """What `strings FILE | grep -o gfx...` calls targets."""
    return {path: _names(path) for path in files}


def _names(path: Path) -> set[str]:
    strings = subprocess.Popen(["strings", str(path)], stdout=subprocess.PIPE)
    grep = subprocess.run(["grep", "-oE", _NAME.pattern], stdin=strings.stdout, capture_output=True, text=True, check=False)
    strings.wait()
    return set(grep.stdout.split())


def best(runs: int, work: Callable[[], Any]) -> float:
    """Seconds of the fastest of some runs, after one to warm up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the figures of both sides and their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    request = parser.parse_args()
    if not shutil.which("strings"):
        sys.exit("strings is not installed (package binutils)")
    audit(request.folder, "all")
    ours = min((audit(request.folder, "all") for _ in range(request.runs)), key=lambda r: float(r["seconds"]))
    held = [request.folder / path for path in ours["found"]]
    libraries = [p for p in sorted(request.folder.rglob("*")) if p.is_file() and may_hold_code(p.name)]
    size, total = (sum(p.stat().st_size for p in group) for group in (held, libraries))
    print(f"{len(libraries)} libraries of {total / 1e9:.2f} GB, {len(held)} of {size / 1e9:.2f} GB with GPU code")
    print(f"audit      {ours['seconds'] * 1e3:8.1f} ms  peak {ours['peak_mib']:.1f} MiB  read {ours['bytes'] / 1e6:.2f} MB")
    print(f"           {len(ours['broken'])} libraries could not be read whole {' '.join(ours['broken'])}".rstrip())
    for label, group in (("those", held), ("all", libraries)):
        seconds = best(request.runs, lambda group=group: scan(group))  # type: ignore[misc]
        print(f"strings    {seconds * 1e3:8.1f} ms  ({label})  ratio {seconds / ours['seconds']:.0f}")
    _print_truth(ours["found"], scan(held), request.folder)


def _print_truth(found: dict[str, list[str]], scanned: dict[Path, set[str]], folder: Path) -> None:
    """Per library: targets that are there, and what the scan adds or misses."""
    for path, targets in found.items():
        real = {t.split(":")[0] for t in targets}
        named = scanned[folder / path]
        false, missed = len(named - real), len(real - named)
        print(f"  {path}: {len(real)} targets; strings names {len(named)}: {false} of them false, {missed} missed")


if __name__ == "__main__":
    main()
