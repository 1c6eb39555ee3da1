"""Mutation testing: small faults are put into the code, one at a time, and the tests that run the changed line must fail.

python scripts/mutation.py record [TEST_FILE ...]       which test runs which line: .mutation/coverage
python scripts/mutation.py run [PACKAGE ...] -n 60      judge a sample of each package; adds to .mutation/results.jsonl
python scripts/mutation.py again [FILE]                 judge those that were not noticed once more, after new tests and a new record
python scripts/mutation.py show FILE:LINE               judge every fault that can be put into that line
python scripts/mutation.py table [FILE]                 print the tables of docs/mutation.md

`--jobs` says how many processes at a time. A sample is drawn with a fixed seed, so two runs over the same code judge the same faults.
mutmut and cosmic-ray run a fixed command for each fault, here the whole suite. Choosing tests by coverage makes minutes seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from faults import ROOT, Fault, faults_of, possible, sample, statements, with_fault

STATE = ROOT / ".mutation"
PACKAGES = ("rules", "probes", "versions", "plan", "matrix", "redaction")
CACHING = tuple(f"rocm_doctor.{package}" for package in PACKAGES)
BROAD = "test_expected"
"""Compares what probes, rules and plans make of many inputs: always among the tests of a line that it runs."""
CALLS = "test_calls.py"
"""Calls of single functions: they are quick and notice most, so they are run first."""
BUDGET = 90.0
"""Seconds that the chosen tests of one fault took when they were recorded."""
LIMIT = 240
COMPILED = "rocm_doctor/data/matrix.json"
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-p", "no:benchmark")


MARKS = os.environ.get("MUTATION_MARKS", "not slow and not timed")
"""Which tests are recorded."""


class Recorded(NamedTuple):
    """What the record says: for each source file and line the tests that run it, and the seconds of each test."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]


class Times:
    """A pytest plugin: the seconds of each test function, and those that failed. Each test begins with empty caches, so that it runs all
    that its result depends on.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_setup(self) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith(CACHING):
                for one in vars(module).values():
                    if hasattr(type(one), "cache_clear"):  # asked of the type: a pattern would be compiled to answer
                        one.cache_clear()

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.partition("[")[0]
        self.seconds[name] += report.duration
        self.failed |= {name} if report.failed else set()


def record(files: Iterable[Path], jobs: int) -> None:
    """Run each test file once, in a process of its own, and note which of its tests run which line."""
    (STATE / "coverage").mkdir(parents=True, exist_ok=True)

    def one(path: Path) -> None:
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, __file__, "one", str(path)], cwd=ROOT, env=_first(ROOT), capture_output=True, check=False
        )
        print(f"{time.monotonic() - start:6.1f} s  {path.stem}{'' if done.returncode == 0 else ': not recorded'}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, sorted(files, key=lambda path: (path.stem != BROAD, -path.stat().st_size))))


def record_one(path: Path) -> None:
    """Run one test file here under coverage, and write what its tests ran. A test that fails would notice anything: it is left out.

    What runs outside of tests, in a fixture or at import, serves all tests of the file.
    """
    import coverage
    import pytest

    watch, times = coverage.Coverage(data_file=None, source=[str(ROOT / "rocm_doctor")]), Times()
    watch.set_option("run:dynamic_context", "test_function")
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        watch.start()
        pytest.main([*QUIET, "-m", MARKS, f"--basetemp={scratch}/tmp", str(path)], plugins=[times])
        watch.stop()
    if not times.seconds:
        sys.exit(f"{path}: no test ran")
    data = watch.get_data()
    seconds = {name: spent for name, spent in times.seconds.items() if name not in times.failed}
    lines = {
        Path(file).relative_to(ROOT).as_posix(): {
            line: sorted(
                seconds if "" in contexts else {f"tests/{path.name}::{c.rpartition('.')[2]}" for c in contexts} & {*seconds}
            )
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    (STATE / "coverage" / f"{path.stem}.json").write_text(json.dumps({"lines": lines, "seconds": seconds}))


@cache
def recorded() -> Recorded:
    """The record of all test files."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in (STATE / "coverage").glob("*.json"):
        known = json.loads(path.read_text())
        seconds |= known["seconds"]
        for file, by_line in known["lines"].items():
            for line, names in by_line.items():
                lines[file][int(line)] |= known["seconds"].keys() & names
    return Recorded(lines, seconds)


def tests_of(fault: Fault) -> list[str]:
    """The tests for a fault, as pytest takes them: those that run its statement, the nearest and quickest first, for `BUDGET` seconds.

    A statement at the top of a module runs when the first test imports it, and serves all: for it, every test that runs a function of the
    module counts, and the broad ones. What no test runs in its own process may run in a child: then the tests of the files that name the
    module count, or that are named after it.
    """
    known = recorded()
    by_line, inside = known.lines[fault.file], statements(ROOT / fault.file)
    span = min((s for s in inside if fault.line in s), key=len, default=None)
    names = {name for one in ([span] if span else inside) for line in one for name in by_line.get(line, ())}
    names = names or _naming(fault.file)
    if span is None:
        names |= {name for name in known.seconds if BROAD in name}
    stem = Path(fault.file).stem
    ordered = sorted(names, key=lambda name: (stem not in name and CALLS not in name, known.seconds[name]))
    out: list[str] = []
    spent = 0.0
    for name in ordered:
        if not out or spent + known.seconds[name] <= BUDGET or BROAD in name:
            out.append(name)
            spent += known.seconds[name]
    return out


def _naming(file: str) -> set[str]:
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    said = (module, f"from {package} import {stem}")
    files = {
        path.stem
        for path in (ROOT / "tests").glob("test_*.py")
        if f"_{stem}" in path.stem or any(words in path.read_text(encoding="utf-8") for words in said)
    }
    return {name for name in recorded().seconds if Path(name.partition("::")[0]).stem in files}


def judge(fault: Fault, tests: list[str], folder: Path) -> str:
    """killed, timed out (which is noticed too), survived, or not run. `folder` holds a copy of the package."""
    if not tests:
        return "not run"
    path = folder / fault.file
    was, sound = path.stat(), path.read_text(encoding="utf-8")
    path.write_text(with_fault(sound, fault.place), encoding="utf-8")
    env = _first(folder) | {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *QUIET, "-m", "", "-x", f"--basetemp={folder / 'tmp'}", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        path.write_text(sound, encoding="utf-8")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        shutil.copy2(ROOT / COMPILED, folder / COMPILED)  # compiled anew by the fault
    return "survived" if done.returncode == 0 else "killed"


def _first(folder: Path) -> dict[str, str]:
    """The environment in which the package is imported from that folder, by children too."""
    path = os.pathsep.join([str(folder), str(ROOT / "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def run(faults: list[Fault], jobs: int, seconds: float = math.inf) -> Iterator[dict[str, Any]]:
    """Judge them in random order, each in a copy of the package, as many at a time as `jobs`; begin none after so many seconds."""
    faults, end = random.Random(0).sample(faults, len(faults)), time.monotonic() + seconds
    tests = {fault: tests_of(fault) for fault in faults}
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch, ThreadPoolExecutor(jobs) as pool:
        folders: queue.Queue[Path] = queue.Queue()
        for folder in pool.map(_copy, (Path(scratch) / str(n) for n in range(jobs))):
            folders.put(folder)

        def one(fault: Fault) -> dict[str, Any] | None:
            folder, start = folders.get(), time.monotonic()
            if start > end:
                folders.put(folder)
                return None
            try:
                result = judge(fault, tests[fault], folder)
            finally:
                folders.put(folder)
            return {
                **fault._asdict(),
                "result": result,
                "tests": len(tests[fault]),
                "seconds": round(time.monotonic() - start, 1),
            }

        for done in as_completed([pool.submit(one, fault) for fault in faults]):
            entry = done.result()
            if entry is None:
                continue
            print(
                f"{entry['result']:<9} {entry['file']}:{entry['line']}  {entry['before'][:60]!r} -> {entry['after'][:60]!r}",
                flush=True,
            )
            yield entry


def _copy(folder: Path) -> Path:
    """A folder with a copy of the package, and the rest of the checkout as links."""
    shutil.copytree(ROOT / "rocm_doctor", folder / "rocm_doctor")
    for path in ROOT.iterdir():
        if path.name not in ("rocm_doctor", ".mutation", ".git"):
            (folder / path.name).symlink_to(path)
    return folder


def again(judged: Iterable[dict[str, Any]], jobs: int) -> Iterator[dict[str, Any]]:
    """Those that were not noticed, judged anew. A fault is found again by its text where lines have moved."""
    now = set()
    for one in judged:
        same = [f for f in faults_of(ROOT / one["file"]) if (f.before, f.after) == (one["before"], one["after"])]
        if not noticed(one) and same:
            now.add(min(same, key=lambda f: abs(f.place - one["place"])))
    return run(sorted(now), jobs)


def noticed(entry: dict[str, Any]) -> bool:
    return entry["result"] in ("killed", "timed out")


def tables(results: list[dict[str, Any]]) -> str:
    """The score of each sample, and what was not noticed."""
    samples = defaultdict(list)
    for one in results:
        samples[one["package"], one["seed"]].append(one)
    lines = ["| package | seed | faults that can be made | judged | noticed | not noticed | not run | score | interval |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|"]  # fmt: skip
    for (package, seed), faults in samples.items():
        counts, total = Counter(one["result"] for one in faults), len(faults)
        good = sum(map(noticed, faults))
        low, high = interval(good, total)
        lines.append(f"| {package} | {seed} | {faults[0]['possible']} | {total} | {good} | {counts['survived']} | {counts['not run']} "
                     f"| {good / total:.0%} | {low:.0%} to {high:.0%} |")  # fmt: skip
    lines += ["", "| place | before | after |", "|---|---|---|"]
    lines += [f"| {one['file'].removeprefix('rocm_doctor/')}:{one['line']} | `{_cell(one['before'])}` | `{_cell(one['after'])}` |"
              for faults in samples.values() for one in sorted(faults, key=lambda one: (one["file"], one["line"])) if not noticed(one)]  # fmt: skip
    return "\n".join(lines)


def interval(good: int, judged: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share, 95 % by default."""
    if not judged:
        return 0.0, 1.0
    share, spread = good / judged, z * z / judged
    middle, half = share + spread / 2, z * math.sqrt(share * (1 - share) / judged + spread / (4 * judged))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def _cell(text: str) -> str:
    short = " ".join(text.split())
    return (short[:70] + "..." if len(short) > 70 else short).replace("|", "\\|").replace("`", "'")


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes at a time")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("files", nargs="*", type=Path)
    commands.add_parser("one").add_argument("file", type=Path)
    commands.add_parser("show").add_argument("place")
    results = STATE / "results.jsonl"
    for name in ("again", "table"):
        commands.add_parser(name).add_argument("file", nargs="?", type=Path, default=results)
    drawn = commands.add_parser("run")
    drawn.add_argument("packages", nargs="*", default=PACKAGES)
    drawn.add_argument("-n", type=int, default=60, help="faults of each package")
    drawn.add_argument("--seed", default="1")
    drawn.add_argument("--seconds", type=float, default=math.inf, help="begin no fault later than that")
    options = parser.parse_args()
    if options.command == "record":
        record(options.files or (ROOT / "tests").glob("test_*.py"), options.jobs)
    elif options.command == "one":
        record_one(options.file)
    elif options.command == "show":
        file, _, line = options.place.rpartition(":")
        list(run([f for f in faults_of(ROOT / file) if f.line == int(line)], options.jobs))
    elif options.command == "again":
        list(again(_read(options.file), options.jobs))
    elif options.command == "table":
        print(tables(_read(options.file)))
    else:
        of = {fault: package for package in options.packages for fault in sample(package, options.n, options.seed)}
        sizes = {package: len(possible(package)) for package in options.packages}
        with results.open("a", encoding="utf-8") as out:
            for entry in run(list(of), options.jobs, options.seconds):
                package = of[Fault(*(entry[field] for field in Fault._fields))]
                out.write(json.dumps({**entry, "package": package, "seed": options.seed, "possible": sizes[package]}) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
