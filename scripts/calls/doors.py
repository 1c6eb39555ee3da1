"""Doors: calls of a whole room with small arguments, which reach functions that no small call reaches.

redaction: a text, and what is left of it. plan: a machine and a wish, and the plan from a few builds. matrix: entries with a field changed,
and what `matrix lint` says of them. `offered` has the many from which scripts/calls chooses.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import random
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import planted
from planted_tickets import tickets

from rocm_doctor.matrix import Matrix, checks, load
from rocm_doctor.matrix.source import MatrixError, compile_json
from rocm_doctor.matrix.types import Target
from rocm_doctor.model import Diagnosis
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import Catalog, System, known
from rocm_doctor.plan.formats import FORMATS
from rocm_doctor.plan.machine import declared, having
from rocm_doctor.plan.packages import wished
from rocm_doctor.plan.text import text as plan_text
from rocm_doctor.redaction.redactor import Redactor

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests" / "small_matrix"
"""A matrix of a few entries, without an error."""
DAY = datetime.date(2026, 11, 22)
BUILDS = (
    "2.5.1+rocm6.2",
    "2.9.1+rocm6.3",
    "2.9.1+rocm6.4",
    "2.10.0+rocm7.1",
    "2.13.0+rocm7.2",
    "2.14.0+rocm7.14",
    "2.13.0+rocm10.0.0",
)
WIDEST = 160
"""Characters of a line that is offered to redaction."""
PLANS = 400
DAMAGED = 2
"""Damaged copies of one entry that are offered."""
SECTIONS = ("torch", "rocm", "support", "facts", "rates", "peaks", "field", "processors", "questions", "phrases")


def redacted(text: str, user: str = "") -> str:
    """A text without its secrets, on a machine of that user."""
    return Redactor("", user, f"/home/{user}" if user else "").text(text)


def planned(
    gfx: str, wish: str = "", python: str = "3.12", system: System = "linux", driver: str = "", kernel: str = "", glibc: str = "",
    index: str = "", form: str = "", here: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """The plan from a few builds of torch. `wish`: a way of fine-tuning and packages; `here`: what is installed."""
    catalog = few_builds()
    words = wish.split()
    train = next((word for word in words if word in ("full", "lora", "qlora")), "")
    machine = declared(gfx, python, catalog.matrix, system, driver, kernel, glibc)
    packages = wished([word for word in words if word != train], train, catalog)
    plan = answer(having(machine, here) if here else machine, catalog, packages, index)
    return FORMATS[form](plan) if form and plan.best else plan_text(plan, verbose=True)


@cache
def few_builds() -> Catalog:
    """The catalog with some builds of torch, among which a plan is made in milliseconds."""
    matrix = load()
    fewer: Matrix = msgspec.structs.replace(matrix)
    fewer.__dict__.update({name: value for name, value in matrix.__dict__.items() if name != "made"})
    fewer.__dict__["torch"] = tuple(one for one in matrix.torch if one.key in BUILDS)
    return known(fewer)


def linted(*values: Any) -> list[str]:
    """What `matrix lint` says of these entries, as if they were all that there is. References are judged to what is among them."""
    entries = [checks.Entry(value, Path("none"), type(value).__name__, (n,)) for n, value in enumerate(values)]
    found = [*checks._each(entries, DAY, (), checks._OF_OURS), *checks._together(entries, ROOT / "compat_matrix")]
    kinds = {type(value) for value in values}
    aside = {"is not in catalog/gfx.yaml": Target, "is not a diagnosis": Diagnosis, "the successor": None}
    left = [p for p in found if not any(words in p.message and kind not in kinds for words, kind in aside.items())]
    return [f"{p.level} {p.check} {p.key} {p.field}: {p.message}" for p in left]


def linted_folder(file: str, old: str = "", new: str = "") -> list[str]:
    """What `matrix lint` says of tests/small_matrix with one change, and a checksum of what is compiled of it."""
    with tempfile.TemporaryDirectory(prefix="calls-") as scratch:
        folder = Path(shutil.copytree(SMALL, Path(scratch) / "small"))
        path = folder / file
        path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1) if old else new, encoding="utf-8")
        said = [f"{p.level} {p.check} {p.key} {p}".replace(scratch, "") for p in checks.lint(folder, DAY)]
        with contextlib.suppress(MatrixError):
            said.append(f"{zlib.crc32(compile_json(folder)):08x}")
    return said


def but(value: Any, /, **fields: Any) -> Any:
    """An entry with other values in these fields."""
    return msgspec.structs.replace(value, **fields)


NAMES = ("key", "id", "product", "gfx", "module", "name", "version", "says")
"""Fields that name an entry."""


@cache
def every_entry() -> dict[str, Any]:
    """Entries of the catalog by type and name."""
    matrix = load()
    of_sections = [getattr(matrix, section) for section in SECTIONS]
    every = [one for found in of_sections for one in (found.values() if isinstance(found, dict) else found)]
    every += [*matrix.driver.modules, *matrix.driver.windows]
    return {f"{type(one).__name__} {name_of(one)}": one for one in every}


def name_of(entry: Any) -> str:
    """The name of an entry among those of its type."""
    return next((str(getattr(entry, field)) for field in NAMES if hasattr(entry, field)), "")


DOORS: dict[str, Callable[..., Any]] = {"redaction": redacted, "plan": planned, "matrix": linted, "matrix folder": linted_folder}


def doors_of(room: str) -> list[str]:
    """The doors of a room."""
    return [door for door in DOORS if door.partition(" ")[0] == room]


def offered(door: str, written: Callable[[Any], str]) -> Iterator[str]:
    """Calls of a door to choose from; `written` has a value as Python."""
    if door == "redaction":
        lines = dict.fromkeys(line for text in _texts() for line in _lines(text))
        yield from (f"({line!r})" for line in lines)
        yield from (f"({line!r}, 'ada')" for line in lines if "ada" in line)
    elif door == "plan":
        yield from _machines(random.Random(1))
    elif door == "matrix folder":
        yield from (f"({', '.join(map(repr, edit))})" for edit in _edits())
    elif door == "matrix":
        for values in _damaged(random.Random(1)):
            with contextlib.suppress(Exception):  # what is too long to be written
                yield f"({', '.join(map(written, values))}{',' if len(values) == 1 else ''})"


def _texts() -> Iterator[str]:
    """Texts of the tests of redaction, planted secrets, and reports that were written."""
    import corpus

    for name in ("redaction", "privacy", "attack", "questions"):
        tree = ast.parse((ROOT / "tests" / f"test_{name}.py").read_text(encoding="utf-8"))
        yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    yield from (plant.text for plant in planted.plants({**planted.FIRST, **planted.SECOND}, 1))
    for path in sorted((ROOT / "tests" / "tickets").glob("*.txt")):
        yield from (ticket.text for ticket in tickets(path.stem, 4))
    yield from (entry.text for entry in corpus.load()[::40] if not entry.real)


def _lines(text: str) -> Iterator[str]:
    """Each line, and each with the next."""
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""]):
        if line.strip() and len(line) <= WIDEST:
            yield line
            if after.strip() and len(after) <= WIDEST:
                yield f"{line}\n{after}"


def _machines(draw: random.Random) -> Iterator[str]:
    catalog = few_builds()
    names, targets = sorted(catalog.packages), sorted(catalog.matrix.gfx)
    choices: dict[str, tuple[str, ...]] = {
        "python": ("3.9", "3.10", "3.11", "3.13", "3.14", ""),
        "system": ("linux", "windows", "wsl"),
        "driver": ("inbox", "6.3.6", "6.8.5", "6.10.5", "6.12.12", "6.16.6", "30.10", "9.9", "26.1.1"),
        "kernel": ("5.15.0-119-generic", "6.8.0-60-generic", "6.14.0-37-generic", "6.18.0"),
        "glibc": ("2.27", "2.31", "2.39"),
        "index": ("rocm6", "rocm7", "repo.radeon.com", "nightly"),
        "form": (*FORMATS,),
    }
    here = (
        {"torch": "2.9.0+cu128"},
        {"torch": "2.9.1+rocm6.4", "transformers": "4.40.0"},
        {"bitsandbytes": "0.43.0"},
        {"numpy": "1.26.4"},
    )
    for _ in range(PLANS):
        wish = " ".join([draw.choice(("", "full", "lora", "qlora")), *draw.sample(names, draw.choice((0, 0, 1, 2)))]).strip()
        given: dict[str, Any] = {"wish": wish} if wish else {}
        given |= {name: draw.choice(values) for name, values in choices.items() if draw.random() < 0.3}
        given |= {"here": draw.choice(here)} if draw.random() < 0.2 else {}
        yield f"({draw.choice(targets)!r}{''.join(f', {name}={value!r}' for name, value in given.items())})"


def _edits() -> Iterator[tuple[str, ...]]:
    """Changes of tests/small_matrix: a line less, doubled, or with another value, and whole files."""
    for path in sorted(one for one in SMALL.rglob("*") if one.is_file()):
        file, text = path.relative_to(SMALL).as_posix(), path.read_text(encoding="utf-8")
        yield from ((file, "", new) for new in ("", "- 5\n", "{}\n", "x: [\n", "a: 1\n"))
        for line in dict.fromkeys(text.splitlines()):
            key, colon, value = line.partition(": ")
            yield from ((file, line + "\n", ""), (file, line, f"{line}\n{line}"), (file, line, f"{line} "))
            for other in ("", "[]", "5", "{}", "[x]", '"x"', "2030-01-01", "{a: b}", '"a b"', "[{a: 1}]") if colon else ():
                yield file, line, f"{key}: {other}"
            yield from ((file, word, f"{word}x") for word in value.split() if word.strip("[]{},:"))


def _damaged(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Entries with a field damaged, alone and beside what they refer to."""
    from expected_parts import damaged

    matrix = load()
    every = [
        *every_entry().values(),
        *matrix.rows,
        *matrix.gfx.values(),
        *matrix.env.values(),
        *matrix.programs.values(),
        *matrix.diagnoses.values(),
    ]
    for one in every:
        for _ in range(DAMAGED):
            field, bad = damaged(one, draw)
            yield (but(one, **{field: bad}),)
    for peak in matrix.peaks:
        beside = [one for one in matrix.gfx.values() if one.gfx == peak.gfx]
        rates = [one for one in matrix.rates.values() if one.family in {target.family for target in beside}][:1]
        for _ in range(DAMAGED):
            field, bad = damaged(peak, draw)
            yield (but(peak, **{field: bad}), *beside, *rates)
    for row in draw.sample(list(matrix.rows), 80):
        other = but(row, key="other", status=draw.choice(("works", "broken", "wrong")))
        field, bad = damaged(other, draw)
        yield from ((row, other), (row, but(other, **{field: bad})), (row, row))
        yield (row, matrix.diagnoses[row.diagnosis])
    for target in matrix.gfx.values():
        yield (target, but(target, gfx="gfx900"))
        yield from ((target, one) for one in matrix.support if target.gfx in one.scope)
