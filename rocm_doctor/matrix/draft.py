"""`matrix new`: a row as YAML text, checked before it is written, so that the file it joins stays sound."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocm_doctor.matrix.checks import check_rows
from rocm_doctor.matrix.source import Problem, Shorts, entries
from rocm_doctor.model import Row

_ORDER = tuple(field for field in Row.__struct_fields__ if field != "origin")


def as_yaml(fields: Mapping[str, object]) -> str:
    """The text of one row in the order of the schema; fields that are empty are left out."""
    lines: list[str] = []
    for name in _ORDER:
        value = fields.get(name)
        if isinstance(value, Mapping):
            lines += [f"  {name}:", *(f"    {key}: {json.dumps(str(v), ensure_ascii=False)}" for key, v in value.items())]
        elif isinstance(value, (list, tuple)) and value:
            lines += [f"  {name}:", *(f"    - {json.dumps(str(v), ensure_ascii=False)}" for v in value)]
        elif isinstance(value, bool):
            lines += [f"  {name}: true"] if value else []
        elif value:
            lines.append(f"  {name}: {_scalar(str(value))}")
    return "- " + "\n".join(lines).lstrip() + "\n"


def _scalar(text: str) -> str:
    """Dates and plain words as they are, everything else in double quotes."""
    return (
        text
        if text.replace("-", "").isalnum() and not text.isdigit() and text.lower() not in ("yes", "no", "on", "off")
        else json.dumps(text, ensure_ascii=False)
    )


def faults(text: str, known_ids: Iterable[str], known_keys: Iterable[str], shorts: Shorts) -> list[Problem]:
    """Problems of the text of one row, checked as an overlay and against the matrix that it joins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.yaml"
        path.write_text(text, encoding="utf-8")
        rows, problems = entries(path, Row, shorts, "row")
        problems += check_rows(rows, path, "row")
    ids, keys = set(known_ids), set(known_keys)
    for row in rows:
        if row.diagnosis not in ids:
            problems.append(Problem("row", 1, "diagnosis", f"`{row.diagnosis}` is not a diagnosis", "reference-known", row.key))
        if row.key in keys:
            problems.append(
                Problem("row", 1, "key", f"`{row.key}` is already used by a row or a retired row", "key-unique", row.key)
            )
    return problems


def append(path: Path, text: str) -> None:
    """Add a row to a file of rows, which is made when it is not there."""
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before.rstrip("\n") + ("\n\n" if before.strip() else "") + text, encoding="utf-8")
