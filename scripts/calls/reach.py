"""Which calls of a door run which line of its room."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from faults import ROOT, Fault, statements

from calls.variants import failed


class Reach:
    """The calls of one door, what they give, and the lines that they run."""

    def __init__(self, room: str, make: Callable[[str], str]) -> None:
        self.folder = str(ROOT / "rocm_doctor" / room)
        self.make = make
        self.given: dict[str, str] = {}
        self.lines: dict[tuple[str, int], list[str]] = defaultdict(list)

    def note(self, call: str) -> None:
        """Make a call, and note what it gives and runs. One that fails is left out."""
        if call in self.given:
            return
        run: set[tuple[str, int]] = set()

        def line(frame: FrameType, event: str, _: Any) -> Any:
            run.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def begin(frame: FrameType, event: str, _: Any) -> Any:
            return line if frame.f_code.co_filename.startswith(self.folder) else None

        sys.settrace(begin)
        try:
            result = self.make(call)
        finally:
            sys.settrace(None)
        if not failed(result):
            self.given[call] = result
            for one in run:
                self.lines[one].append(call)

    def of(self, fault: Fault, first: Iterable[str]) -> dict[str, str]:
        """The calls that run the statement of a fault, and what they give: those of `first`, then the others in random order."""
        path = ROOT / fault.file
        span = min((s for s in _statements(path) if fault.line in s), key=len, default=range(0))
        found = dict.fromkeys(call for number in span for call in self.lines.get((str(path), number), ()))
        others = list(found)
        random.Random(fault.place).shuffle(others)
        return {call: self.given[call] for call in dict.fromkeys([*(one for one in first if one in found), *others])}


_statements: Callable[[Path], list[range]] = cache(statements)
