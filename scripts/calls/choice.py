"""The few of many calls that notice the most faults: what `python scripts/calls` writes into tests/expected/calls_*.txt.

A fault is put into the loaded function, and the function is called: no process is started, a fault takes milliseconds. What no call
of the function notices is left to the door of its room (calls/doors.py), of whose calls those are made that run the line. A call stays
when it notices a fault that no call before it did. One that is slow, or gives two results, is not considered.
"""

from __future__ import annotations

import ast
import contextlib
import multiprocessing
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from faults import ROOT, Fault, faults_of, possible, with_fault
from recorded import enforced

from calls import language as calls
from calls.doors import DOORS, doors_of
from calls.loaded import Caches, Late, codes, functions, limit, running
from calls.offered import offered
from calls.reach import Reach
from calls.shorter import Shorter, fewer_words
from calls.variants import Variation, failed, near
from calls.writer import Writer
from rocm_doctor.matrix import load

LEFT_OUT = ("plan.fix", "plan.installer", "plan.journal", "plan.environment", "plan.keep", "matrix.store:_write")
"""Modules that write files or start processes: a fault in them is judged in a process of its own only (scripts/mutation.py)."""
PART = 12
"""Faults that one process judges at a time."""
POOL = 60
"""Calls of one function to choose from."""
LONG = 700
SLOW = 0.05
ENDLESS = 0.5
"""Seconds of a call that is not considered, and of one that a fault made endless."""
VARIANTS = 300
SECONDS = 0.6
"""Variants of the calls of one function, and how long they may take."""
NEAR = 60
PATIENCE = 0.1
AT_DOOR = 0.8
"""Seconds for one fault, and by the calls of a door."""
LOOK = 40
"""Seconds in which the calls of a door are made once."""


class Result(NamedTuple):
    """Faults of a function, those that no call notices, and the calls that notice the others."""

    function: str
    judged: int
    left: list[Fault]
    kept: dict[str, list[str]]


def chosen(
    pool: dict[str, list[str]], before: dict[str, list[str]], rooms: Sequence[str], jobs: int, seconds: float
) -> Iterator[Result]:
    """The calls for each function of these rooms, as many as so many seconds allow."""
    end, paths = time.monotonic() + seconds, {ROOT / fault.file for room in rooms for fault in possible(room)}
    faults = {name: found for path in paths for name, found in _by_function(path).items() if not name.startswith(LEFT_OUT)}
    parts = [(name, found[n : n + PART], end) for name, found in faults.items() for n in range(0, len(found), PART)]
    enforced(pytest.MonkeyPatch())
    _MINE.append(Chosen(pool, before, rooms))
    with multiprocessing.get_context("fork").Pool(jobs, _quiet) as workers:
        yield from filter(None, workers.imap_unordered(_of_function, sorted(parts, key=lambda part: -len(part[1]))))


def _by_function(path: Path) -> dict[str, list[Fault]]:
    """The faults in each function of a file."""
    place = ".".join(path.relative_to(ROOT / "rocm_doctor").with_suffix("").parts).removesuffix(".__init__")
    spans = {
        name: range(code.lineno, (code.end_lineno or 0) + 1)
        for name, code in _defined(ast.parse(path.read_text(encoding="utf-8")))
    }
    found = defaultdict(list)
    for fault in faults_of(path):
        for name, span in spans.items():
            if fault.line in span:
                found[f"{place}:{name}"].append(fault)
    return found


def _defined(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _defined(node, f"{prefix}{node.name}.")


def _quiet() -> None:
    """A pattern with a fault in its flags prints what it is made of."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


_MINE: list[Chosen] = []
"""What this process chooses with."""


Calls = dict[str, str]
"""Calls, and what they give."""


class Chosen:
    """The calls of each function that stay."""

    def __init__(self, pool: dict[str, list[str]], before: dict[str, list[str]], rooms: Sequence[str] = ()) -> None:
        self.names = calls.names_for(load())
        self.caches = Caches(self.names.matrix)
        self.shorter = Shorter(self.names, lambda target, call: self._given(target, call, SLOW))
        self.sound: dict[str, Calls] = {}
        self.varied: dict[str, Calls] = {}
        self.kept: dict[str, list[str]] = defaultdict(list, before)
        self.pool = pool
        self.reach = {door: self._reach(door) for room in rooms for door in doors_of(room)}

    def _reach(self, door: str) -> Reach:
        reach = Reach(door.partition(" ")[0], lambda call: self._given(DOORS[door], call, 20 * SLOW))
        end, offers = time.monotonic() + LOOK, list(offered(door, Writer(self.names).written))
        random.Random(0).shuffle(offers)
        for call in [*self.kept[door], *offers]:
            if time.monotonic() > end:
                break
            with contextlib.suppress(Late):
                reach.note(call)
        self.kept[door] = [call for call in self.kept[door] if call in reach.given]
        return reach

    def prepare(self, function: str) -> Calls:
        """The calls of a function to choose from, shortest first, and what they give: those that are quick and give the same twice."""
        if function not in self.sound:
            target, out = calls.resolved(function), Calls()
            shorter = {self.shorter.of(target, call) for call in self.pool.get(function, [])[:POOL]} if target else set()
            for call in sorted({*shorter, *self.kept[function]}, key=lambda call: (len(call), call)):
                if call and len(call) < LONG:
                    with contextlib.suppress(Late):
                        result = self._given(target, call, SLOW)
                        if not result.startswith("AssertionError") and result == self._given(target, call, SLOW):
                            out[call] = result
            self.sound[function] = _varied(out)
            self.kept[function] = [call for call in self.kept[function] if call in out]
        return self.sound[function]

    def _variants(self, function: str) -> Calls:
        """Calls like those of a function, each with one thing changed."""
        if function not in self.varied:
            draw, known = random.Random(function), self.prepare(function)
            vary = Variation(known)
            tried = (vary.of(draw.choice(list(known)), draw) for _ in range(VARIANTS if known else 0))
            self.varied[function] = _varied(self._sound(function, tried, known))
        return self.varied[function]

    def _near(self, function: str, known: Calls, fault: Fault) -> Calls:
        """Calls like those, with the words and numbers of a fault."""
        with contextlib.suppress(SyntaxError):
            found = (node.value for node in ast.walk(ast.parse(fault.before)) if isinstance(node, ast.Constant))
            hints = [value for value in found if type(value) in (str, int) and value != ""]
            draw, base = random.Random(fault.place), list(known)[:200]
            tried = dict.fromkeys(near(draw.choice(base), hints, draw) for _ in range(NEAR if base and hints else 0))
            return self._sound(function, tried, known)
        return {}

    def _sound(self, function: str, tried: Iterable[str], known: Calls) -> Calls:
        """Those calls that are new, with what they give. One that fails otherwise than known calls asks for what no caller asks for."""
        fails, found = {result.partition(":")[0] for result in known.values() if failed(result)}, Calls()
        target, spent = calls.resolved(function), time.process_time() + SECONDS
        for call in tried:
            if time.process_time() > spent:
                break
            if call in known or call in found or len(call) > LONG:
                continue
            with contextlib.suppress(Late, Exception):
                result = self._given(target, call, SLOW)
                if (not failed(result) or result.partition(":")[0] in fails) and result == self._given(target, call, SLOW):
                    found[call] = result
        return found

    def _given(self, target: Any, call: str, seconds: float, fault_in: str = "") -> str:
        self.caches.empty(fault_in)
        with limit(seconds):
            return calls.given(target, call, self.names)

    def notices(self, name: str, function: FunctionType, code: CodeType, fault: Fault) -> bool:
        """True if a call notices the fault that this code of a function has; a new call is kept."""
        for place, known, patience in self._steps(name, fault):
            with running(function, code):
                call = self._first(place, known, patience, name)
            self.caches.empty(name)
            if call and call not in self.kept[place]:
                self._keep(place, call, known[call], name, function, code)
            if call:
                return True
        return False

    def _steps(self, name: str, fault: Fault) -> Iterator[tuple[str, Calls, float]]:
        """What is tried, in turn: a function or a door, its calls, and how long."""
        known = self.prepare(name)
        yield name, {**{call: known[call] for call in self.kept[name]}, **known}, PATIENCE
        found = ((door, self.reach[door].of(fault, self.kept[door])) for door in doors_of(name.partition(".")[0]))
        run = {door: calls for door, calls in found if calls}
        yield from ((door, calls, AT_DOOR) for door, calls in run.items())
        yield name, self._variants(name), PATIENCE
        yield name, self._near(name, known, fault), PATIENCE
        yield from ((door, self._near(door, calls, fault), AT_DOOR) for door, calls in run.items())

    def _first(self, place: str, known: Calls, patience: float, name: str) -> str:
        target, end, kept = calls.resolved(place), time.process_time() + patience, set(self.kept[place])
        for call, result in known.items():
            if time.process_time() > end and call not in kept:
                return ""
            if self._now(target, call, name) != result:
                return call
        return ""

    def _now(self, target: Any, call: str, name: str) -> str:
        try:
            return self._given(target, call, ENDLESS, name)
        except Late:
            return "endless"

    def _keep(self, place: str, call: str, result: str, name: str, function: FunctionType, code: CodeType) -> None:
        """Keep a call; one of a door with no more words than it takes."""
        if place not in self.reach:
            self.sound[place][call] = result
            self.kept[place].append(call)
            return
        given = {call: result}

        def still(shorter: str) -> bool:
            with contextlib.suppress(Late):
                given[shorter] = self._given(DOORS[place], shorter, SLOW)
                with running(function, code):
                    now = self._now(DOORS[place], shorter, name)
                self.caches.empty(name)
                return now != given[shorter] and not failed(given[shorter])
            return False

        short = fewer_words(call, still)
        self.reach[place].note(short)
        self.kept[place].append(short)


def _varied(out: Calls) -> Calls:
    """Calls of different results first: they notice more."""
    seen: dict[str, int] = defaultdict(int)
    rank = {}
    for call, result in out.items():
        rank[call] = seen[result]
        seen[result] += 1
    return dict(sorted(out.items(), key=lambda item: rank[item[0]]))


def _of_function(item: tuple[str, list[Fault], float]) -> Result | None:
    try:
        return _judged(*item)
    except Exception as exc:  # a fault can break what judges it
        print(f"{item[0]}: {type(exc).__name__}: {exc}", file=sys.stderr)
        return None


def _judged(function: str, faults: list[Fault], end: float) -> Result:
    """Judge the faults of a function by calls, those before `end`."""
    (place, _, name), one = function.partition(":"), _MINE[0]
    path = Path(str(sys.modules[f"rocm_doctor.{place}"].__file__))
    source = path.read_text(encoding="utf-8")
    before = dict(codes(compile(ast.unparse(ast.parse(source)), str(path), "exec", dont_inherit=True))).get(name)
    target = functions(place).get(name)
    judged, left = 0, []
    if target is None:  # wrapped by what cannot be looked through
        return Result(function, 0, [], {})
    for fault in faults:
        if time.monotonic() > end:
            break
        after = dict(codes(compile(with_fault(source, fault.place), str(path), "exec", dont_inherit=True)))[name]
        if after != before:
            judged += 1
            if not one.notices(function, target, after, fault):
                left.append(fault)
    return Result(
        function,
        judged,
        left,
        {where: one.kept[where] for where in (function, *doors_of(place.partition(".")[0])) if one.kept[where]},
    )
