"""Write what is generated and checked in: JSON Schemas, the man page, tests/expected. `--check` finds the stale.

python scripts/regen.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import expected
import man_page
import matrix_schemas
import msgspec
import processors_table

from rocm_doctor import model
from rocm_doctor.figures import types as figure_types
from rocm_doctor.figures.types import BenchReport
from rocm_doctor.fleet import types as fleet_types
from rocm_doctor.fleet.types import Judgement
from rocm_doctor.matrix import load, rows
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Report

ROOT = Path(__file__).resolve().parent.parent


SCHEMAS = "https://raw.githubusercontent.com/rocm-doctor/rocm-doctor/main/rocm_doctor/schemas"


def schema(kind: type, name: str, title: str) -> str:
    """JSON Schema of a type: descriptions are the docstrings under its fields and those of the types that it refers to."""
    body = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{SCHEMAS}/{name}",
        "title": title,
        **msgspec.json.schema(kind),
    }
    words = field_docs()
    for defined, part in body["$defs"].items():
        for field, entry in part.get("properties", {}).items():
            if text := words.get(defined, {}).get(field):
                entry["description"] = text
    return as_text(body)


def as_text(body: Any) -> str:
    """A schema as JSON. Descriptions are without the indentation of docstrings, which msgspec takes away from 0.23 on only."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: inspect.cleandoc(v) if k == "description" and isinstance(v, str) else clean(v) for k, v in value.items()}
        return [clean(v) for v in value] if isinstance(value, list) else value

    return msgspec.json.format(msgspec.json.encode(clean(body)), indent=1).decode() + "\n"


def field_docs() -> dict[str, dict[str, str]]:
    """The docstring under each field of each published type, by the field's name in JSON."""
    return {**_field_docs(model), **_field_docs(rows), **_field_docs(figure_types), **_field_docs(fleet_types)}


def _field_docs(module: ModuleType) -> dict[str, dict[str, str]]:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for one in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        kind = getattr(module, one.name)
        names = dict(zip(getattr(kind, "__struct_fields__", ()), getattr(kind, "__struct_encode_fields__", ())))
        for field, words in pairwise(one.body):
            if isinstance(field, ast.AnnAssign) and isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant):
                found.setdefault(one.name, {})[names[ast.unparse(field.target)]] = " ".join(str(words.value.value).split())
    return found


def generated() -> Iterator[tuple[str, str]]:
    """Path and text of everything that is generated."""
    matrix = load()
    yield "rocm_doctor/schemas/report.json", schema(Report, "report.json", "rocm-doctor report")
    yield "rocm_doctor/schemas/row.json", schema(Row, "row.json", "row of the compatibility matrix")
    yield "rocm_doctor/schemas/bench.json", schema(BenchReport, "bench.json", "rocm-doctor bench")
    yield "rocm_doctor/schemas/fleet.json", schema(Judgement, "fleet.json", "rocm-doctor fleet judge")
    for name, body in matrix_schemas.schemas():
        yield f"compat_matrix/schemas/{name}.json", as_text(body)
    yield "rocm_doctor/binaries/processors.py", processors_table.module(matrix)
    yield "docs/rocm-doctor.1", man_page.page(matrix)


def expectations() -> Iterator[tuple[str, str]]:
    """Path and text of tests/expected, which tests/test_expected.py compares too."""
    matrix = load()
    for name, made in expected.PAGES.items():
        yield f"tests/expected/{name}.txt", made(matrix)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 when something is stale")
    parser.add_argument("--without-expected", action="store_true", help="leave out tests/expected, which the tests compare")
    given = parser.parse_args()
    check, stale = given.check, []
    for name, text in chain(generated(), () if given.without_expected else expectations()):
        path = ROOT / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print("\n".join(f"{'stale' if check else 'written'}: {name}" for name in stale) or "up to date")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
