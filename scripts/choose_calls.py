"""The few of many calls that notice the most faults: what scripts/harvest_calls.py writes into tests/expected/calls_*.txt.

A fault is put into the loaded function, and the function is called: no process is started, a fault takes milliseconds. A call
stays when it notices a fault that no call before it did. One that is slow, or gives two results, is not considered.
"""

from __future__ import annotations

import ast
import contextlib
import multiprocessing
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import expected_calls as calls
import pytest
from faults import ROOT, Fault, faults_of, possible, with_fault
from loaded_faults import Late, codes, empty_caches, functions, limit, running
from recorded import enforced
from shorten_calls import Shorter
from vary_calls import Variation, failed, near

from rocm_doctor.matrix import load

LEFT_OUT = ("plan.fix", "plan.environment", "plan.keep", "plan.commands", "matrix.source")
"""Modules that write files or start processes: a fault in them is judged in a process of its own only (scripts/mutation.py)."""
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
PATIENCE = 0.06
"""Seconds for one fault."""


class Result(NamedTuple):
    """The faults of a module, and the calls that notice them, with what they give."""

    place: str
    judged: int
    noticed: int
    kept: dict[str, list[str]]


def chosen(pool: dict[str, list[str]], before: dict[str, list[str]], jobs: int, seconds: float) -> Iterator[Result]:
    """The calls for each module of the rooms, as many modules as so many seconds allow."""
    paths = {ROOT / fault.file for room in calls.ROOMS for fault in possible(room)}
    places = [_place(path) for path in sorted(paths, key=lambda path: -path.stat().st_size)]
    wanted, end = [place for place in places if not place.startswith(LEFT_OUT)], time.monotonic() + seconds
    with multiprocessing.get_context("fork").Pool(jobs, _begin, (pool, before)) as workers:
        results = workers.imap_unordered(_of_module, wanted)
        for _ in wanted:
            try:
                found = results.next(max(0.1, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                break
            if found is not None:
                yield found


_MINE: list[Chosen] = []
"""What this process chooses with."""


def _begin(pool: dict[str, list[str]], before: dict[str, list[str]]) -> None:
    enforced(pytest.MonkeyPatch())
    _MINE.append(Chosen(pool, before))


def _place(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "rocm_doctor").with_suffix("").parts).removesuffix(".__init__")


class Chosen:
    """The calls of each function that stay."""

    def __init__(self, pool: dict[str, list[str]], before: dict[str, list[str]]) -> None:
        self.names = calls.names_for(load())
        self.shorter = Shorter(self.names, lambda target, call: self._given(target, call, SLOW))
        self.sound: dict[str, dict[str, str]] = {}
        self.varied: dict[str, dict[str, str]] = {}
        self.kept: dict[str, list[str]] = defaultdict(list, before)
        self.pool = pool

    def prepare(self, function: str) -> dict[str, str]:
        """The calls of a function to choose from, shortest first, and what they give: those that are quick and give the same twice."""
        if function not in self.sound:
            target, out = calls.resolved(function), dict[str, str]()
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

    def _variants(self, function: str, target: Any, out: dict[str, str]) -> dict[str, str]:
        """Calls like those, each with one thing changed, that give a result none of them gives or the same as its original."""
        draw, vary = random.Random(function), Variation(out)
        tried = (vary.of(draw.choice(list(out)), draw) for _ in range(VARIANTS))
        return _varied(self._sound(target, tried, out))

    def _sound(self, target: Any, tried: Iterable[str], out: dict[str, str]) -> dict[str, str]:
        """Those calls that are new, with what they give. One that fails otherwise than known calls asks for what no caller asks for."""
        fails, found = {result.partition(":")[0] for result in out.values() if failed(result)}, dict[str, str]()
        spent = time.process_time() + SECONDS
        for call in tried:
            if time.process_time() > spent:
                break
            if call in out or call in found or len(call) > LONG:
                continue
            with contextlib.suppress(Late, Exception):
                result = self._given(target, call, SLOW)
                if (not failed(result) or result.partition(":")[0] in fails) and result == self._given(target, call, SLOW):
                    found[call] = result
        return found

    def _given(self, target: Any, call: str, seconds: float) -> str:
        empty_caches(self.names.matrix)
        with limit(seconds):
            return calls.given(target, call, self.names)

    def vary(self, function: str) -> None:
        """Add variants of the calls of a function."""
        if function not in self.varied:
            sound = self.prepare(function)
            self.varied[function] = self._variants(function, calls.resolved(function), sound) if sound else {}
            self.sound[function] = self.varied[function] | sound

    def near(self, function: str, fault: Fault) -> None:
        """Variants with the words and numbers of a fault, in place of the others."""
        with contextlib.suppress(SyntaxError):
            found = (node.value for node in ast.walk(ast.parse(fault.before)) if isinstance(node, ast.Constant))
            hints = [value for value in found if type(value) in (str, int) and value != ""]
            draw, base = random.Random(fault.place), [*self.kept[function], *self.sound[function]][:200]
            tried = dict.fromkeys(near(draw.choice(base), hints, draw) for _ in range(NEAR if base and hints else 0))
            self.varied[function] = self._sound(calls.resolved(function), tried, self.sound[function])

    def notices(self, function: str, varied: bool = False) -> bool:
        """True if a call of that function gives another result now; a new one is kept."""
        target, sound, end = calls.resolved(function), self.prepare(function), time.process_time() + PATIENCE
        known = self.varied[function] if varied else sound
        for call in known if varied else [*self.kept[function], *sound]:
            if time.process_time() > end and call not in self.kept[function]:
                return False
            try:
                now = self._given(target, call, ENDLESS)
            except Late:
                now = "endless"
            if now != known[call]:
                sound[call] = known[call]
                if call not in self.kept[function]:
                    self.kept[function].append(call)
                return True
        return False


def _varied(out: dict[str, str]) -> dict[str, str]:
    """Calls of different results first: they notice more."""
    seen: dict[str, int] = defaultdict(int)
    rank = {}
    for call, result in out.items():
        rank[call] = seen[result]
        seen[result] += 1
    return dict(sorted(out.items(), key=lambda item: rank[item[0]]))


def _of_module(place: str) -> Result | None:
    try:
        return _judged(place)
    except Exception as exc:  # a fault can break what judges it
        print(f"{place}: {type(exc).__name__}: {exc}", file=sys.stderr)
        return None


def _judged(place: str) -> Result:
    """Judge every fault of a module by its calls."""
    module, one = sys.modules[f"rocm_doctor.{place}"], _MINE[0]
    path = Path(str(module.__file__))
    source = path.read_text(encoding="utf-8")
    plain = compile(ast.unparse(ast.parse(source)), str(path), "exec", dont_inherit=True)
    before, known = dict(codes(plain)), functions(place)
    faults, noticed = faults_of(path), 0
    for fault in faults:
        after = compile(with_fault(source, fault.place), str(path), "exec", dont_inherit=True)
        changed = [(name, code) for name, code in codes(after) if code != before.get(name) and name in known]
        if changed:
            (name, code), *_ = changed
            noticed += _in_function(one, f"{place}:{name}", known[name], code, fault)
    print(place, len(faults), noticed, round(time.process_time()), file=sys.stderr, flush=True)
    names = [name for name in one.sound if name.partition(":")[0] == place and one.kept[name]]
    kept = {name: [f"{call} -> {one.sound[name][call]}" for call in one.kept[name]] for name in names}
    return Result(place, len(faults), noticed, kept)


def _in_function(chosen: Chosen, name: str, function: FunctionType, code: CodeType, fault: Fault) -> bool:
    chosen.prepare(name)
    with running(function, code):
        if chosen.notices(name):
            return True
    chosen.vary(name)
    with running(function, code):
        if chosen.notices(name, varied=True):
            return True
    chosen.near(name, fault)
    with running(function, code):
        return chosen.notices(name, varied=True)
