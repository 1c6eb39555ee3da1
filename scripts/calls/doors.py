"""Doors: calls of a whole room with small arguments, which reach functions that no small call reaches.

redaction: a text, and what is left of it. plan: a machine and a wish, and the plan from a few builds. matrix: entries with a field changed,
and what `matrix lint` says of them. probes: texts, and what one probe reads in them. `offered` has the many from which scripts/calls chooses.
"""

from __future__ import annotations

import contextlib
import datetime
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from text_probes import NAMES as GPUS

from rocm_doctor.matrix import checks, load
from rocm_doctor.matrix.source import MatrixError, compile_json
from rocm_doctor.matrix.types import Target
from rocm_doctor.model import Artifact, Diagnosis, Fact, Reading, Value
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import Catalog, System, known
from rocm_doctor.plan.formats import FORMATS
from rocm_doctor.plan.machine import declared, having
from rocm_doctor.plan.packages import wished
from rocm_doctor.plan.text import text as plan_text
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.sources.paste import cut

replace = msgspec.structs.replace
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


def redacted(text: str, then: str = "", host: str = "", user: str = "", home: str = "") -> list[str]:
    """A text without its secrets, and one after it, with what was replaced, on that machine."""
    one = Redactor(host, user, home)
    return (
        [one.text(text)]
        if not then
        else [one.text(text), one.text(then), *(f"{r.pseudonym} {r.times} {r.shown}" for r in one.replaced)]
    )


def planned(
    gfx: str, wish: str = "", python: str = "3.12", system: System = "linux", driver: str = "", kernel: str = "", glibc: str = "",
    index: str = "", form: str = "", here: dict[str, str] | None = None,
    facts: dict[str, Value] | None = None,
) -> str:  # fmt: skip
    """The plan from a few builds of torch. `wish`: a way of fine-tuning and packages; `here`: what is installed; `facts`: what was read."""
    catalog = few_builds()
    words = wish.split()
    train = next((word for word in words if word in ("full", "lora", "qlora")), "")
    machine = declared(gfx, python, catalog.matrix, system, driver, kernel, glibc)
    machine = having(machine, here) if here else machine
    if facts:
        read = {name: Fact(value, (Reading("read", name, f"{name}={value}"),)) for name, value in facts.items()}
        machine = replace(machine, base=replace(machine.base, facts={**machine.base.facts, **read}), probed=True)
    packages = wished([word for word in words if word != train], train, catalog)
    plan = answer(machine, catalog, packages, index)
    return FORMATS[form](plan) if form and plan.best else plan_text(plan, verbose=True)


@cache
def few_builds() -> Catalog:
    """The catalog with some builds of torch, among which a plan is made in milliseconds."""
    matrix = load()
    fewer = matrix.with_rows(matrix.rows)
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


def read(probe: str, *texts: str | Artifact) -> ProbeResult:
    """What a probe reads in these texts: pastes and artifacts."""
    found = [artifact for one in texts for artifact in (cut(one, "paste") if isinstance(one, str) else [one])]
    result: ProbeResult = import_module(f"rocm_doctor.probes.{probe}").probe(Artifacts(found, lambda: GPUS))
    return result


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


DOORS: dict[str, Callable[..., Any]] = {
    "redaction": redacted,
    "plan": planned,
    "matrix": linted,
    "matrix folder": linted_folder,
    "probes": read,
}


def doors_of(room: str) -> list[str]:
    """The doors of a room."""
    return [door for door in DOORS if door.partition(" ")[0] == room]
