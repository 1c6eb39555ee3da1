"""TOML with the lines of its values: the parser gives none, so each value is looked up in the text again, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rocm_doctor.bounded import Unreadable, tomls
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, quoted


class Lines:
    """Finds the line of a value in a text. Values are asked for in about their order in the text."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self._at = 0
        # A file in which nothing is found where it should be would be searched whole for each value.
        self._budget = 1_000_000 + 10 * len(self.lines)

    def place(self, *needles: str) -> Place:
        """The next line that holds all the needles, going on from the last hit; else the first one; else line 1."""
        return self._find(needles) or Place(self.file, 1)

    def of_text(self, text: str, *needles: str) -> Place:
        """The same for a text in quotes, as an entry of an array is; without them where it is written otherwise."""
        return self._find((f'"{text}"',)) or self._find((f"'{text}'",)) or self.place(*needles or (text,))

    def go_to(self, key: str) -> None:
        """Go on from the array of that key, where there is one."""
        begins = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=\s*\[""")
        self._budget -= len(self.lines)
        if self._budget > 0:
            self._at = next((n for n, line in enumerate(self.lines) if begins.match(line)), self._at)

    def _find(self, needles: Sequence[str]) -> Place | None:
        for start, stop in ((self._at, len(self.lines)), (0, self._at)):
            for number in range(start, stop if self._budget > 0 else start):
                self._budget -= 1
                if all(n in self.lines[number] for n in needles):
                    self._at = number
                    return Place(self.file, number + 1, quoted(self.lines[number]))
        return None


def load(tree: Tree, path: str) -> tuple[dict[str, Any], Lines] | None:
    """The values of a TOML file; None, with a trouble at the line, when it is none."""
    text = tree.text(path)
    if text is None:
        return None
    try:
        if path not in tree.parsed:
            tree.parsed[path] = tomls.values(text)
        return tree.parsed[path], Lines(path, text)
    except Unreadable as exc:
        tree.problems.append(ReadProblem(Place(path, max(1, exc.line)), f"not read: {exc}"))
        return None


def table(data: Any, *keys: str) -> dict[str, Any]:
    """A nested table, empty where it is missing or is something else."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def items(data: Any) -> list[dict[str, Any]]:
    """The tables of an array of tables."""
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def strings(value: Any) -> list[str]:
    """The texts of an array."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
