"""More pages of tests/expected: what the parts make of inputs by the hundred.

Probes of damaged texts, `matrix lint` of damaged entries, ranges of versions, plans of drawn machines, and the shape of the values that
the rooms hand on.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import random
import re
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from test_probe_examples import sample
from text_probes import NAMES

import rocm_doctor
from rocm_doctor.commands import Program
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import Matrix, checks, draft, load
from rocm_doctor.matrix.checks.rows import condition_fault
from rocm_doctor.matrix.coverage import coverage, diff
from rocm_doctor.matrix.hip import hip_of_rocm, rocm_of_hip
from rocm_doctor.matrix.pages import pages
from rocm_doctor.matrix.show import show
from rocm_doctor.matrix.source import read_shorts
from rocm_doctor.model import Artifact, Row, Snapshot
from rocm_doctor.pipeline import read_facts
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import System, known
from rocm_doctor.plan.formats import FORMATS, UnknownFormat
from rocm_doctor.plan.html import part
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.packages import wished
from rocm_doctor.plan.text import text
from rocm_doctor.probes import PROBES
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.sources import bundle
from rocm_doctor.sources.paste import cut
from rocm_doctor.versions import contains, parse, release, rocm_of_local, series, sort_key

ROOT = Path(__file__).resolve().parents[1]
replace = msgspec.structs.replace
VERSIONS = (
    "0", "1", "2.4", "2.4.0", "2.4.1+rocm6.0", "2.4.1+ROCm6.0", "v2.11", "2.11.0a0+rocm7.11.0a20260106", "2.11.0.alpha1", "2.11b2", "2.11.0-beta3",
    "2.11.0preview", "2.11.0.preview4", "2.11.0rc1", "2.11.0rc1.dev2", "2.11.0.dev20260101", "2.11.0.post1", "2.11.0.post2+x", "2.11.0a1.post3", "2.11.3",
    "6.8.0-45-generic", "6.8.0-45.46~22.04", "6.17.0-19.19~24.04.2", "6.17.1-300.fc43.x86_64", "6.18.0-rc6+", "6.3.42134-a9a80e791",
    "7.0.0.70000-17~24.04", "6.3.60304", "6.3.60404", "6.3.10000", "6.3.9999", "1.0.10001", "7.2.1.70201.70202", "7.2.x", "5.15.167.4-microsoft",
    "1" + "0" * 18, "1" + "0" * 17, "3.8.0+git4cff872c.rocm10.0.0", "unknown", "", " 2.4 ", "2.4:1", "2.4_3", "2.4 beta",
)  # fmt: skip
BOUNDS = (
    ">=2.4", "<2.4", "==2.4", "===2.4", "!=2.4", "2.4", ">2.4", "<=2.4", "~=2.4", "~=2.4.0", "2.4.*", "!=2.4.*", "==2.11.x", "!=2.11.x", "<=2.11.x", ">2.11.x",
    "<2.11.x", ">=2.11.x", "<2.11.0rc1", ">=2.11.0rc1", "==2.11.0a0", ">2.11.0.dev1", "<=2.11.0.preview4", "<2.11.0.post1", ">2.11.0.post1",
    "<=2.11.0.post1", ">=6.8.0-45", "<6.17.0-19.20", ">6.17.0-19", "<=6.17.0-19.19", ">=6.17.0-19.19.1", "<7.0.0-18", ">=2.4,<2.12", "==7.2.1",
)  # fmt: skip
DAMAGES = 8
"""Damaged copies of each text that a probe shows in its docstring."""
TEXTS = 40
"""Texts of each probe's own test that are read."""
PASTED = (
    *sorted((ROOT / "tests").glob("test_probe_*.py")),
    *sorted((ROOT / "tests").glob("test_paste_*.py")),
    ROOT / "tests" / "tool_texts.py",
)
"""Files of tests whose texts are read as a person would paste them."""
ONE_OF = 4
"""Of so many entries one is damaged, by a hash of its key: a new entry changes nothing for the others."""
PLANS = 30
SUBJECTS = (
    ("gfx1036", ""),
    ("7900 XTX", ""),
    ("torch", "2.12"),
    ("rocm", "7.2"),
    ("driver", "6.4"),
    ("vllm", ""),
    ("HIP_VISIBLE_DEVICES", ""),
)
DAY = datetime.date(2026, 11, 22)
DRAFTS: tuple[dict[str, Any], ...] = (
    {},
    {"key": "no", "title": "a b", "harmless": True, "supersedes": (), "commands": ["echo \u00e4", 5], "cause": ""},
    {"key": "123", "diagnosis": "arch", "when": {"gpu.gfx": "gfx906|gfx908", "torch.rocm": 6.4}, "checked": DAY, "origin": "x"},
    {"title": "On", "cause": "plain-words", "grade": "gossip", "harmless": False},
)
"""Fields of rows that are written as YAML, beside those of tests/small_matrix."""


def ranges(matrix: Matrix) -> str:
    """The parts of versions, their order, and what lies in which range."""
    lines = ["# Written by scripts/regen.py: versions and ranges (scripts/expected_parts.py)."]
    for one in VERSIONS:
        lines += [f"{one!r}: {parse(one)} {release(one)} {series(one)} {series(one, 3)} {rocm_of_local(one)}"]
    lines += [f"sorted: {' < '.join(sorted(VERSIONS, key=sort_key))}", ""]
    for bound in BOUNDS:
        said = {True: "in", False: "out", None: "unknown"}
        lines += [f"{bound}: " + "; ".join(f"{said[contains(bound, one)]} {one!r}" for one in VERSIONS)]
    for hip in ("5.7.31921", "6.2.41133", "6.2.99", "6.4.43484-123", "7.0.51831", "7.15.26333", "7.2", "7", "", "x", "9.9.1"):
        lines += [f"HIP {hip!r} is of ROCm {rocm_of_hip(hip, matrix.rocm)}"]
    for rocm in ("6.2", "6.2.4", "7.2.0", "7.9", "9.9", ""):
        lines += [f"ROCm {rocm!r} has HIP {hip_of_rocm(rocm, matrix.rocm)!r}"]
    return "\n".join(lines) + "\n"


def shapes(matrix: Matrix) -> str:
    """Fields of the values that the rooms hand on: name, type, default, and whether the value can be changed or read strictly."""
    lines = ["# Written by scripts/regen.py: fields of structures and named tuples (scripts/expected_parts.py)."]
    for module in ("matrix", "plan", "probes", "rules"):
        package = import_module(f"rocm_doctor.{module}")
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            place = import_module(found.name)
            for name, kind in sorted(vars(place).items()):
                if isinstance(kind, type) and kind.__module__ == found.name:
                    lines += _shape(kind, f"{found.name.removeprefix(rocm_doctor.__name__ + '.')}.{name}")
    return "\n".join(lines) + "\n"


def _shape(kind: Any, name: str) -> Iterator[str]:
    if issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        yield f"{name}: frozen={config.frozen} forbids={config.forbid_unknown_fields} short={config.omit_defaults}"
        yield from (f"    {f.encode_name}: {f.type} = {_default(f.default)}" for f in msgspec.structs.fields(kind))
    elif hasattr(kind, "_fields"):
        yield f"{name}: " + ", ".join(f"{f} = {_default(kind._field_defaults.get(f, msgspec.NODEFAULT))}" for f in kind._fields)


def _default(value: Any) -> str:
    return "required" if value is msgspec.NODEFAULT else re.sub(r" at 0x\w+", "", repr(value))


def complaints(matrix: Matrix) -> str:
    """What `matrix lint` says of entries in which one field was damaged."""
    lines = [
        "# Written by scripts/regen.py: entries of compat_matrix with one field damaged, and what `matrix lint` says of them."
    ]
    root = ROOT / "compat_matrix"
    entries, done = list(checks._entries(root)), []
    for number, entry in enumerate(entries):
        name = f"{type(entry.value).__name__} {entry.key}"
        if zlib.crc32(name.encode()) % ONE_OF == 0 and not isinstance(entry.value, Program):
            field, bad = damaged(entry.value, random.Random(name))
            entries[number] = entry._replace(value=msgspec.structs.replace(entry.value, **{field: bad}))
            done.append(f"{name}: {field} = {bad!r}"[:120])
    lines += ["", *done, ""]
    found = [*checks._each(entries, DAY, (), checks._OF_OURS), *checks._together(entries, root)]
    lines += sorted(f"{p.level} {p.check} {p.file} {p.key} {p.field}: {p.message}" for p in found)
    rows = tuple(entry.value for entry in entries if isinstance(entry.value, Row))
    for table in diff(matrix, msgspec.structs.replace(matrix, rows=rows[:-1])):
        lines += ["", f"== the matrix with these rows: {table.title}", *(" | ".join(line) for line in table.lines)]
    for kind in ("version", "release", "number", "word", "flag", "log", "list"):
        said = (
            condition_fault(kind, one)
            for one in ("", "!", "absent", "a|", "a|set", ">=2", ">=2,<1", "x:2", "amd:>=2", "!5", "0x1f", "12 GiB", "true")
        )
        lines += ["", f"== a condition on a {kind}", *said]
    return "\n".join(lines) + "\n"


def damaged(value: Any, draw: random.Random) -> tuple[str, Any]:
    """A field and a damaged value that the schema accepts: the checks see nothing else."""
    while True:
        field = draw.choice([f for f in value.__struct_fields__ if getattr(value, f)])
        bad = _damaged(getattr(value, field), draw)
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert(msgspec.to_builtins(msgspec.structs.replace(value, **{field: bad})), type(value))
            return field, bad


def _damaged(value: Any, draw: random.Random) -> Any:
    if isinstance(value, str):
        return draw.choice(
            (value + " ", value.upper(), value + "-x", "sudo rm -rf /home/ada/x", "It It is ada@example.org.", value[:3])
        )
    if isinstance(value, datetime.date):
        return draw.choice((datetime.date(2030, 1, 1), datetime.date(2024, 1, 1)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return draw.choice((0, value + 1, -value))
    if isinstance(value, tuple):
        return draw.choice(((), value[1:], value + value[:1], tuple(_damaged(one, draw) for one in value)))
    if isinstance(value, dict):
        name = draw.choice(list(value))
        return draw.choice(({}, {**value, name: _damaged(value[name], draw)}, {f"{n}x": v for n, v in value.items()}))
    if isinstance(value, msgspec.Struct):
        field = draw.choice([f for f in value.__struct_fields__ if getattr(value, f) is not None])
        return msgspec.structs.replace(value, **{field: _damaged(getattr(value, field), draw)})
    return value


def snapshot(one: Snapshot) -> Iterator[str]:
    shown = ProbeResult()
    shown.facts = dict(sorted(one.facts.items()))
    shown.listing().gpus += [dict(sorted(gpu.facts.items())) for gpu in one.gpus]
    yield from str(shown).split("\n")
    yield from (f"error {error.quote}" for error in one.errors)


def read(matrix: Matrix) -> str:
    """Facts that each probe finds in the text of its docstring, in damaged copies of it, and in texts of its test."""
    lines = ["# Written by scripts/regen.py: what probes read in whole and in damaged texts (scripts/expected_parts.py)."]
    for name, _ in PROBES:
        probe = import_module(f"rocm_doctor.probes.{name}")
        shown = sample(probe.__doc__ or "").items
        draw = random.Random(name)
        inputs = [shown, *([_torn(one, draw) for one in shown] for _ in range(DAMAGES))]
        inputs += [
            [msgspec.structs.replace(shown[0], text=words, missing=None)]
            for words in islice(_texts(ROOT / "tests" / f"test_probe_{name.rpartition('.')[2]}.py"), TEXTS)
        ]
        for number, artifacts in enumerate(inputs):
            lines += ["", f"== {name} {number}", *str(probe.probe(Artifacts(artifacts, lambda: NAMES))).split("\n")]
    for folder in sorted(path for path in (ROOT / "fixtures").iterdir() if path.name != "repos"):
        whole, draw = bundle.read(folder), random.Random(folder.name)
        for number, artifacts in enumerate([whole, *([_torn(one, draw) for one in whole] for _ in range(2))]):
            lines += ["", f"== {folder.name} {number}", *snapshot(enrich(read_facts(artifacts, matrix), matrix))]
    for path in PASTED:
        for number, words in enumerate(_texts(path)):
            lines += ["", f"== {path.name} {number}", *snapshot(enrich(read_facts(cut(words, "paste"), matrix), matrix))]
    return "\n".join(lines) + "\n"


def _torn(one: Artifact, draw: random.Random) -> Artifact:
    """The artifact with lines lost, doubled, or cut in the middle."""
    kept: list[str] = []
    for line in one.text.split("\n"):
        kept += draw.choice(([line],) * 6 + ([], [line, line], [line[: len(line) // 2]]))
    return msgspec.structs.replace(one, text="\n".join(kept))


def _texts(test: Path) -> Iterator[str]:
    """The texts of several lines in a test."""
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))) if test.is_file() else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("\n") > 1:
            yield node.value


def drawn(matrix: Matrix) -> str:
    """Plans of drawn machines, and tables of the matrix."""
    draw, catalog = random.Random(2), known(matrix)
    lines = ["# Written by scripts/regen.py: plans of drawn machines, and tables of the matrix (scripts/expected_parts.py)."]
    names = sorted(catalog.packages)
    for _ in range(PLANS):
        system: System = draw.choice(("linux", "linux", "linux", "windows", "wsl"))
        gfx, python = draw.choice(sorted(matrix.gfx)), draw.choice(("3.9", "3.11", "3.12", "3.13", "3.14"))
        driver = draw.choice(("", "", "inbox", "6.3.6", "6.8.5", "6.12.12", "6.16.6", "30.10"))
        kernel, glibc = draw.choice(("", "5.15.0-119-generic", "6.14.0-37-generic")), draw.choice(("", "2.31", "2.39"))
        train, wishes = draw.choice(("", "full", "lora", "qlora")), draw.sample(names, draw.choice((0, 1, 2)))
        machine = declared(gfx, python, matrix, system, driver, kernel, glibc)
        plan = answer(machine, catalog, wished(wishes, train, catalog), draw.choice(("", "", "", "rocm6", "rocm7")))
        lines += [
            "",
            f"== {machine.words()}; {glibc or 'any'} glibc; {train} {' '.join(wishes)}",
            text(plan, verbose=draw.random() < 0.5, tool="pip"),
        ]
        form = draw.choice(sorted({*FORMATS} - {"json"}))
        if plan.best:
            try:
                lines += [f"-- {form}", FORMATS[form](plan)]
            except UnknownFormat as exc:
                lines += [str(exc)]
        if draw.random() < 0.2:
            lines += ["-- html", part(plan).partition("</style>")[2]]
    tables = [table for subject, version in SUBJECTS for table in show(matrix, subject, version)]
    for table in (*tables, *coverage(matrix, DAY)):
        lines += ["", f"== {table.title}", " | ".join(table.columns), *(" | ".join(line) for line in table.lines)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


def small(_: Matrix) -> str:
    """Everything that is made of tests/small_matrix: what is decoded of it, pages of diagnoses, tables, and rows written as YAML."""
    root = ROOT / "tests" / "small_matrix"
    one = load(root)
    rows = [draft.as_yaml({**msgspec.to_builtins(row), **more}) for row, more in product(one.rows, DRAFTS)]
    lines = ["# Written by scripts/regen.py: what is made of tests/small_matrix (scripts/expected_parts.py)."]
    lines += [
        f"{one.version}, {one.age(DAY)} days old on {DAY}; {replace(one, version='2026.1.2.3').age(DAY)}; {Matrix().age(DAY)}"
    ]
    lines += [f"{key}: {row.key if (row := one.row(key)) else 'no row'}" for key in ("mi50-works", "old-row", "older-row", "x")]
    lines += [f"{name}: {one.plain(name)}" for name in ("notes", "rates", "nothing")]
    lines += [
        msgspec.json.encode(value).decode() for value in (*one.rows, *one.diagnoses.values(), *one.gfx.values(), one.driver)
    ]
    lines += [f"{values}" for values in (one.rates, one.peaks, one.programs, one.torch, one.complaints)]
    for path, page in pages(one):
        lines += ["", f"== {path}", *page.split("\n")]
    tables = [table for subject in ("gfx906", "Radeon VII", "mi50", "driver", "gfx1") for table in show(one, subject)]
    tables += [*coverage(one, DAY), *coverage(one, DAY + datetime.timedelta(days=400))]
    tables += [*diff(one, replace(one, rows=(replace(one.rows[0], title="x" * 90, status="wrong"),))), *diff(Matrix(), one)]
    for table in tables:
        lines += ["", f"== {table.title}", " | ".join(table.columns), *(" | ".join(line) for line in table.lines)]
    for written in rows:
        found = draft.faults(written, one.diagnoses, {"mi50-works", "old-row"}, read_shorts(root))
        lines += ["", *written.split("\n"), *(f"{p.check} {p.key} {p}" for p in found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"
