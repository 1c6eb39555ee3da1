"""Mutation testing: small faults are put into the code, one at a time, and the tests that run the changed line must fail.

python scripts/mutation.py record                  which test runs which line: .mutation/coverage (minutes)
python scripts/mutation.py run [PACKAGE ...] -n 20 judge a sample of each package; .mutation/results.json
python scripts/mutation.py again                   judge those that were not noticed once more, after new tests and a new record
python scripts/mutation.py show FILE:LINE          every fault that can be put into that line, judged
python scripts/mutation.py page                    write docs/mutation.md from the results

A sample is drawn with a fixed seed, so two runs over the same code judge the same faults. mutmut and cosmic-ray do the same for whole
programs; they run a fixed command for each fault, and the tests here take two minutes. Choosing by coverage makes it seconds.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".mutation"
PACKAGES = ("rules", "probes", "versions", "plan", "matrix", "redaction")
# The tests of these packages. Those that start whole programs or read megabytes notice much, but take long, and coverage does not
# reach into their children.
TESTS = ("test_binaries_targets", "test_catalog", "test_commands", "test_conditions", "test_confidence", "test_coords", "test_engine",
         "test_expected", "test_fixtures", "test_logs", "test_matrix_", "test_paste_c", "test_plan_", "test_probe_", "test_redaction", "test_review_verdict",
         "test_rules_", "test_snapshot", "test_versions")  # fmt: skip
BROAD = "test_expected"
"""Compares what probes, rules and plans make of many inputs: always among the tests."""
LEFT_OUT = ("test_plan_fix", "test_paste_corpus", "test_matrix_price")
MOST_TESTS = 60
LIMIT = 240
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv,
}  # fmt: skip


class Fault(NamedTuple):
    """One fault: the file, the line, what was there and what is put there, and the number of the place in the file."""

    file: str
    line: int
    before: str
    after: str
    place: int


def faults_of(path: Path) -> list[Fault]:
    """Every fault that can be put into a file, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(ROOT).as_posix()
    return [Fault(name, line, before, after, n) for n, (_, line, before, after) in enumerate(_changes(tree))]


def with_fault(source: str, place: int) -> str:
    """The source with the fault of that number in it."""
    tree = ast.parse(source)
    for number, (change, *_) in enumerate(_changes(tree)):
        if number == place:
            change()
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.Module) -> Iterator[tuple[Any, int, str, str]]:
    """A function that makes the change, its line, the text before and after, for each place of the tree."""
    for node in _runs(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield _put(node, "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]])
        elif isinstance(node, ast.BoolOp):
            yield _put(node, "op", SWAPS[type(node.op)]())
            for n in range(len(node.values)):
                yield _put(node, "values", [v for m, v in enumerate(node.values) if m != n])
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS and not isinstance(node.left, ast.Constant):
            yield _put(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield _put(node, "op", ast.UAdd(), f"bool({ast.unparse(node.operand)})")
        elif isinstance(node, ast.IfExp):
            yield _put(node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield _put(node, "value", ast.Constant(None))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield _put(node, "value", not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield _put(node, "value", node.value + 1)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and not set(node.value) & set(" \n"):
            yield _put(node, "value", node.value + "X")


def _runs(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: no annotation, no docstring, no import, no text of a message."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            skipped = isinstance(
                child, (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.TypeAlias if hasattr(ast, "TypeAlias") else ast.Import)
            )
            words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not skipped and not words:
                yield child
                yield from _runs(child)


def _put(node: ast.AST, field: str, value: Any, words: str = "") -> tuple[Any, int, str, str]:
    changed = copy.copy(node)
    setattr(changed, field, value)
    return lambda: setattr(node, field, value), node.lineno, ast.unparse(node), words or ast.unparse(changed)  # type: ignore[attr-defined]


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def record() -> None:
    """Run the tests once and note which of them run which line."""
    STATE.mkdir(exist_ok=True)
    settings = STATE / "coveragerc"
    settings.write_text(f"[run]\nsource = rocm_doctor\ndynamic_context = test_function\ndata_file = {STATE / 'coverage'}\n")
    tests = [
        str(p) for p in sorted((ROOT / "tests").glob("test_*.py")) if p.name.startswith(TESTS) and not p.name.startswith(LEFT_OUT)
    ]
    command = [
        sys.executable,
        "-m",
        "coverage",
        "run",
        f"--rcfile={settings}",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    subprocess.run([*command, f"--junitxml={STATE / 'tests.xml'}", *tests], cwd=ROOT, check=False)


def failing() -> list[str]:
    """Tests that failed on sound code: they would notice anything."""
    cases = ElementTree.parse(STATE / "tests.xml").iter("testcase") if (STATE / "tests.xml").is_file() else ()
    bad = (one for one in cases if one.find("failure") is not None or one.find("error") is not None)
    return [f"{one.get('classname', '').replace('.', '/')}.py::{one.get('name')}" for one in bad]


def tests_of(faults: Iterable[Fault]) -> dict[Fault, list[str]]:
    """The tests that run the statement of each fault, as pytest takes them, and the files of tests that are named for its module.

    A statement at the top of a module runs at import, before any test: for it, every test that runs a line of the module counts.
    """
    from coverage import CoverageData

    data = CoverageData(str(STATE / "coverage"))
    data.read()
    lines: dict[str, dict[int, list[str]]] = {}
    spans: dict[str, list[range]] = {}
    out = {}
    for fault in faults:
        by_line = lines.setdefault(fault.file, data.contexts_by_lineno(str(ROOT / fault.file)))
        inside = spans.setdefault(fault.file, _statements(ROOT / fault.file))
        span = min((s for s in inside if fault.line in s), key=len, default=range(fault.line, fault.line + 1))
        names = {name for line in span for name in by_line.get(line, []) if name}
        names = names or {name for found in by_line.values() for name in found if name}
        nodes = {f"tests/{'/'.join(name.split('.')[:-1]).removeprefix('tests/')}.py::{name.split('.')[-1]}" for name in names}
        named = {f"tests/{path.name}" for path in (ROOT / "tests").glob(f"test_*{Path(fault.file).stem}.py")}
        out[fault] = sorted(nodes | named)
    return out


def _statements(path: Path) -> list[range]:
    """The lines of each simple statement inside a function: coverage notes a statement of several lines at some of them."""
    functions = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef)]
    inside = [n for function in functions for n in ast.walk(function) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return [range(n.lineno, (n.end_lineno or n.lineno) + 1) for n in inside]


def sample(package: str, size: int, seed: str) -> list[Fault]:
    """The faults of a package that are drawn with this seed; whole lines of data at module level count like any other."""
    where = ROOT / "rocm_doctor" / package
    files = sorted(where.rglob("*.py")) if where.is_dir() else [where.with_suffix(".py")]
    every = [fault for path in files for fault in faults_of(path)]
    return sorted(random.Random(f"{seed}:{package}").sample(every, min(size, len(every))))


def judge(fault: Fault, tests: list[str], folder: Path) -> str:
    """killed, survived, or no test runs it. Tests that name the fault's module go first."""
    if not tests:
        return "not run"
    stem = Path(fault.file).stem
    ordered = sorted(tests, key=lambda name: (stem not in name, name))
    chosen = [*ordered[:MOST_TESTS], *(name for name in ordered[MOST_TESTS:] if BROAD in name)]
    path = folder / fault.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(with_fault(sound, fault.place), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
        *chosen,
    ]
    command += [f"--deselect={name}" for name in failing()]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_MAX_EXAMPLES": "20"}
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_text(sound, encoding="utf-8")
    return "survived" if done.returncode == 0 else "killed"


def run(faults: list[Fault], jobs: int) -> list[dict[str, Any]]:
    """Judge them, each in a copy of the project, as many at a time as `jobs`."""
    tests = tests_of(faults)
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        folders = [_copy(Path(scratch) / str(n)) for n in range(jobs)]

        def one(fault: Fault) -> dict[str, Any]:
            folder = folders.pop()
            try:
                result = judge(fault, tests[fault], folder)
            finally:
                folders.append(folder)
            print(f"{result:<9} {fault.file}:{fault.line}  {fault.before[:60]!r} -> {fault.after[:60]!r}", flush=True)
            return {**fault._asdict(), "result": result}

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, faults))


def again(judged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results with those judged anew that were not noticed. A fault is found again by its text where lines have moved."""
    old = [one for one in judged if one["result"] != "killed"]
    now = {}
    for one in old:
        same = [f for f in faults_of(ROOT / one["file"]) if (f.before, f.after) == (one["before"], one["after"])]
        now[one["file"], one["place"]] = min(same, key=lambda f: abs(f.place - one["place"]), default=None)
    fresh = run([fault for fault in now.values() if fault], 1)
    results = {(one["file"], one["place"]): one for one in fresh}
    found = {key: results[fault.file, fault.place] for key, fault in now.items() if fault}
    return [found.get((one["file"], one["place"]), one) for one in judged if now.get((one["file"], one["place"]), one)]


def _copy(folder: Path) -> Path:
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in [*names.split("\n")[:-1], "rocm_doctor/data/matrix.json"]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def page(results: dict[str, Any]) -> str:
    """docs/mutation.md."""
    lines = [
        "# Mutation testing",
        "",
        "Line coverage shows that a line ran, not that a test checks what it did. `python scripts/mutation.py` puts small faults into the code (a",
        "comparison turned, a condition dropped, a number one higher, a name misspelt, a result lost), one at a time, and runs the tests that run",
        f"the line. Drawn with seed {results['seed']}. Goal: 85 % in every package. Written by `scripts/mutation.py page`.",
        "",
        "The scores are of samples, hence the interval (Wilson, 95 %). Faults that change nothing (a cap of 64 made 65) count as not noticed.",
        *([results["how"]] if results.get("how") else []),
        "",
        "| package | faults that can be made | judged | noticed | not noticed | not run by the recorded tests | score | interval |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    left = []
    for package, entry in results["packages"].items():
        counts = {word: sum(one["result"] == word for one in entry["faults"]) for word in ("killed", "survived", "not run")}
        total = sum(counts.values())
        low, high = interval(counts["killed"], total)
        lines.append(f"| {package} | {entry['possible']} | {total} | {counts['killed']} | {counts['survived']} | {counts['not run']} "
                     f"| {counts['killed'] / max(1, total):.0%} | {low:.0%} to {high:.0%} |")  # fmt: skip
        left += [one for one in entry["faults"] if one["result"] != "killed"]
    if missing := [package for package in PACKAGES if package not in results["packages"]]:
        lines += ["", f"Not judged yet: {', '.join(missing)}."]
    lines += ["", "## Not noticed", "", "| place | before | after |", "|---|---|---|"]
    lines += [
        f"| {one['file'].removeprefix('rocm_doctor/')}:{one['line']} | `{_cell(one['before'])}` | `{_cell(one['after'])}` |"
        for one in left
    ]
    return "\n".join(lines) + "\n"


def interval(noticed: int, judged: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share, 95 % by default."""
    if not judged:
        return 0.0, 1.0
    share, spread = noticed / judged, z * z / judged
    middle, half = share + spread / 2, z * math.sqrt(share * (1 - share) / judged + spread / (4 * judged))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def _cell(text: str) -> str:
    short = " ".join(text.split())
    return (short[:70] + "..." if len(short) > 70 else short).replace("|", "\\|").replace("`", "'")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record")
    commands.add_parser("page")
    commands.add_parser("again")
    show = commands.add_parser("show")
    show.add_argument("place")
    drawn = commands.add_parser("run")
    drawn.add_argument("packages", nargs="*", default=PACKAGES)
    drawn.add_argument("-n", type=int, default=20, help="faults of each package")
    drawn.add_argument("--seed", default="1")
    for one in (show, drawn):
        one.add_argument("-j", "--jobs", type=int, default=1, help="faults at a time")
    options = parser.parse_args()
    results = STATE / "results.json"
    if options.command == "record":
        record()
    elif options.command == "show":
        file, _, line = options.place.rpartition(":")
        run([f for f in faults_of(ROOT / file) if f.line == int(line)], options.jobs)
    elif options.command == "again":
        known = json.loads(results.read_text())
        for entry in known["packages"].values():
            entry["faults"] = again(entry["faults"])
            results.write_text(json.dumps(known, indent=1))
    elif options.command == "run":
        known = json.loads(results.read_text()) if results.is_file() else {"packages": {}}
        known["seed"] = options.seed
        for package in options.packages:
            where = ROOT / "rocm_doctor" / package
            files = sorted(where.rglob("*.py")) if where.is_dir() else [where.with_suffix(".py")]
            possible = sum(len(faults_of(path)) for path in files)
            found = run(sample(package, options.n, options.seed), options.jobs)
            known["packages"][package] = {"possible": possible, "faults": found}
            results.write_text(json.dumps(known, indent=1))
    else:
        (ROOT / "docs" / "mutation.md").write_text(page(json.loads(results.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
