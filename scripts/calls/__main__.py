"""Find the calls of tests/expected/calls_*.txt: what pages and tests call anyway, the few of them that notice the most faults.

python scripts/calls watch POOL [TEST_FILE ...]   run these tests, or the pages; add the arguments of each function to POOL
python scripts/calls -j 8 choose POOL [ROOM ...]  write the calls that notice the most faults (calls/choice.py)
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import expected
from faults import ROOT

from calls import language as calls
from calls.choice import LEFT_OUT, POOL, chosen
from calls.loaded import name_of
from calls.writer import Writer
from rocm_doctor.matrix import load
from rocm_doctor.model import Gpu, Snapshot
from rocm_doctor.probes.read.result import Artifacts

WATCHED = 1500
"""Calls of one function that are looked at."""

Pool = dict[str, list[str]]


class Watch:
    """A profile function that notes the arguments of each call of a function of the rooms."""

    def __init__(self, pool: Pool) -> None:
        self.found: dict[str, dict[str, None]] = defaultdict(dict, {name: dict.fromkeys(known) for name, known in pool.items()})
        self.names: dict[CodeType, str] = {}
        self.seen: dict[CodeType, int] = defaultdict(int)
        self.writer = Writer(calls.names_for(load()))
        self.draw = random.Random(0)
        self.busy = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or self.busy:
            return
        name = self.names.get(code)
        if name is None:
            name = self.names[code] = _name(code)
        if not name:
            return
        self.seen[code] += 1
        if self.seen[code] > WATCHED or (self.seen[code] > 300 and self.draw.random() > 0.1):
            return
        self.busy = True
        try:
            call = self._call(frame)
        except Exception:
            return
        finally:
            self.busy = False
        known = self.found[name]
        if call not in known:
            if len(known) >= POOL:
                known.pop(self.draw.choice(list(known)))
            known[call] = None

    def _call(self, frame: FrameType) -> str:
        code, local = frame.f_code, frame.f_locals
        count = code.co_argcount
        args = [self.writer.written(local[name], _room(local[name])) for name in code.co_varnames[:count]]
        only = code.co_varnames[count : count + code.co_kwonlyargcount]
        rest = code.co_varnames[count + code.co_kwonlyargcount :]
        if code.co_flags & 0x04:
            args += [self.writer.written(one, _room(one)) for one in local[rest[0]]]
        args += [f"{name}={self.writer.written(local[name], _room(local[name]))}" for name in only]
        return f"({', '.join(args)})"


def _room(value: Any) -> int:
    return 20_000 if isinstance(value, (Snapshot, Gpu)) else 6000 if isinstance(value, Artifacts) else 900


def _name(code: CodeType) -> str:
    """The function of a code object as `room.module:function`; empty when it is not one of the rooms."""
    name = name_of(code)
    wanted = re.split(r"[.:]", name)[0] in calls.ROOMS and not name.startswith(LEFT_OUT) and "<" not in code.co_name
    return name if wanted and calls.resolved(name) else ""


def watch(pool: Pool, tests: list[str]) -> Pool:
    """The pool with what the pages and these tests call."""
    seen, matrix = Watch(pool), load()
    sys.setprofile(seen)
    for name, made in expected.PAGES.items():
        if not name.startswith("calls_") and not tests:
            made(matrix)
    if tests:
        pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow and not timed", *tests])
    sys.setprofile(None)
    return {name: list(known) for name, known in sorted(seen.found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes at a time")
    commands = parser.add_subparsers(dest="command", required=True)
    watched, choosing = commands.add_parser("watch"), commands.add_parser("choose")
    watched.add_argument("pool", type=Path)
    watched.add_argument("tests", nargs="*")
    choosing.add_argument("pool", type=Path)
    choosing.add_argument("rooms", nargs="*", default=calls.ROOMS)
    choosing.add_argument("--seconds", type=float, default=3600)
    choosing.add_argument("--left", type=Path, help="write the faults that no call notices to this file, as JSON")
    options = parser.parse_args()
    pool: Pool = json.loads(options.pool.read_text()) if options.pool.is_file() else {}
    if options.command == "watch":
        options.pool.write_text(json.dumps(watch(pool, options.tests), indent=0))
    else:
        choose(pool, options.rooms, options.jobs, options.seconds, options.left)


def choose(pool: Pool, rooms: Sequence[str], jobs: int, seconds: float, left: Path | None) -> None:
    """Write the pages of these rooms."""
    before = {name: known for room in rooms for name, known in calls.listed(calls.file_of(room).read_text(encoding="utf-8"))}
    results = list(chosen(pool, before, rooms, jobs, seconds))
    judged = {one.function for one in results}
    kept = {name: dict.fromkeys(known) for name, known in before.items() if name not in judged}
    for one in results:
        for name, found in one.kept.items():
            kept.setdefault(name, {}).update(dict.fromkeys(found))
    for room in rooms:
        mine = [one for one in results if re.split(r"[.:]", one.function)[0] == room]
        names = [name for name in sorted(kept) if re.split(r"[.: ]", name)[0] == room]
        parts = ["\n".join([f"== {name}", *(f"{call} -> " for call in kept[name])]) for name in names]
        calls.file_of(room).write_text("\n\n".join(["#", *parts]) + "\n", encoding="utf-8")
        print(f"{room}: {sum(len(one.left) for one in mine)} of {sum(one.judged for one in mine)} are not noticed")
    if left:
        left.write_text(json.dumps([fault._asdict() for one in results for fault in one.left], indent=0))
    settle(rooms)


SETTLE = """
import pathlib, sys
from calls import language
from rocm_doctor.matrix import load
for room in sys.argv[2:]:
    (pathlib.Path(sys.argv[1]) / room).write_text(language.page(room)(load()), encoding="utf-8")
"""


def settle(rooms: Sequence[str]) -> None:
    """Leave out calls that give another result in another process, with hashes of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        for seed in ("1", "2"):
            folder = Path(scratch) / seed
            folder.mkdir()
            env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
            subprocess.run([sys.executable, "-c", SETTLE, str(folder), *rooms], env=env, check=True)
        for room in rooms:
            one, other = ((Path(scratch) / seed / room).read_text(encoding="utf-8").split("\n") for seed in ("1", "2"))
            lines = [line for line, same in zip(one, other) if line == same]
            calls.file_of(room).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
