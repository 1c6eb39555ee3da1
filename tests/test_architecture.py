"""ARCHITECTURE.md describes the code that is there: rooms, floors, imports and the traced call order."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from types import FrameType

import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.reports import RenderOptions, render

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rocm_doctor"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def _floors() -> list[set[str]]:
    """The rooms of the drawing, one set for each line that names any."""
    drawing = _section("The floors").split("```")[1]
    return [rooms for line in drawing.splitlines() if (rooms := set(re.findall(r"\w+", re.sub("[─│┌┐└┘├┤┬┴┼]", " ", line))))]


def _rooms() -> set[str]:
    """The modules and packages under rocm_doctor/ that hold code."""
    return {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").is_file()} | {p.stem for p in PACKAGE.glob("*.py")}


def _runtime(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement that runs: what is under TYPE_CHECKING is left out."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, part, ()) if not isinstance(tree, ast.expr) else ():
            if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
                yield node
                yield from _runtime(node)


def _imported(path: Path) -> set[str]:
    """The rooms that a module imports, lazily or not."""
    names: set[str] = set()
    for node in _runtime(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "rocm_doctor":
            names |= {f"rocm_doctor.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.split(".")[1] for name in names if name.startswith("rocm_doctor.")}


@cache
def _imports() -> dict[str, set[str]]:
    """Which rooms each room imports."""
    graph: dict[str, set[str]] = {room: set() for room in _rooms()}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        graph[room] |= _imported(path) - {room}
    return graph


def test_the_drawing_shows_every_room_once() -> None:
    drawn = [room for floor in _floors() for room in floor]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == _rooms() - {"__init__"}


def test_the_table_lists_every_room() -> None:
    listed = set(re.findall(r"^\| `([\w.]+)/?` \|", _section("The rooms"), re.MULTILINE))
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name not in ("__pycache__", "data")}
    assert listed == folders | {p.name for p in PACKAGE.glob("*.py") if p.stem not in ("__init__", "__main__")}


def test_nothing_imports_upward_or_sideways() -> None:
    floor = {room: n for n, rooms in enumerate(_floors()) for room in rooms}
    up = [f"{a} imports {b}" for a, rooms in _imports().items() if a != "__init__" for b in rooms if floor[b] <= floor[a]]
    assert up == []


def test_no_floor_could_be_merged_with_the_one_below() -> None:
    """Two neighbouring floors without an import between them are one floor: the drawing has no more than the code needs."""
    graph = _imports()
    floors = _floors()
    idle = [(a, b) for a, b in pairwise(floors) if not any(graph[room] & b for room in a)]
    assert idle == []


def test_import_linter_holds_the_same_floors() -> None:
    layers = re.search(r"^layers = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert layers
    assert [set(re.findall(r"\w+", line)) for line in re.findall(r'"([^"]+)"', layers[1])] == _floors()


def test_the_package_has_no_circle() -> None:
    graph = _imports()
    assert not [pair for pair in combinations(graph, 2) if pair[1] in graph[pair[0]] and pair[0] in graph[pair[1]]]


def _called(path: Path) -> list[str]:
    """The functions of the package that judging and printing a folder calls, each once, in the order of the first call."""
    calls: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(PACKAGE)):
            calls.setdefault(f"{Path(file).relative_to(PACKAGE).as_posix()}: {frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        render("text", pipeline.judge(pipeline.read_paths([path]), load()), RenderOptions())
    finally:
        sys.setprofile(before)
    return list(calls)


def test_the_trace_is_the_road_that_the_value_takes() -> None:
    traced = re.findall(r"^\| `([\w./]+: \w+)` \|", _section("One value, traced"), re.MULTILINE)
    called = _called(ROOT / "fixtures" / "mi50-wrong-override")
    assert len(traced) > 10
    assert [call for call in called if call in traced] == traced


@pytest.mark.parametrize("name", re.findall(r"`([\w./]+\.(?:py|md|toml))(?::|`)", PAGE))
def test_files_that_the_page_names_exist(name: str) -> None:
    assert (ROOT / name).is_file() or (PACKAGE / name).is_file()
