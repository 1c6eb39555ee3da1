"""ARCHITECTURE.md describes the code that is there: rooms, floors and the traced call order. `lint-imports` holds who imports whom."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

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


def test_the_drawing_shows_every_room_once() -> None:
    drawn = [room for floor in _floors() for room in floor]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == _rooms() - {"__init__"}


def test_the_table_lists_every_room() -> None:
    listed = set(re.findall(r"^\| `([\w.]+)/?` \|", _section("The rooms"), re.MULTILINE))
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name not in ("__pycache__", "data")}
    assert listed == folders | {p.name for p in PACKAGE.glob("*.py") if p.stem not in ("__init__", "__main__")}


def test_import_linter_holds_the_same_floors() -> None:
    layers = re.search(r"^layers = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert layers
    assert [set(re.findall(r"\w+", line)) for line in re.findall(r'"([^"]+)"', layers[1])] == _floors()


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


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`([\w./]+\.(?:py|md|toml))(?::|`)", PAGE)
    assert [name for name in named if not ((ROOT / name).is_file() or (PACKAGE / name).is_file())] == []
