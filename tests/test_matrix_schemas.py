"""The JSON Schemas that editors take: every file of the matrix fits, and what a person mistypes does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SETTINGS: dict[str, str] = json.loads((ROOT / ".vscode" / "settings.json").read_text("utf-8"))["yaml.schemas"]


def plain(path: Path) -> Any:
    """The file's values as JSON has them: a date is its text, a number as a key too."""
    return json.loads(json.dumps(yaml.load(path.read_text("utf-8"), yaml.CSafeLoader), default=str))


@pytest.mark.parametrize("schema", SETTINGS)
def test_every_file_fits_its_schema(schema: str) -> None:
    files = list(ROOT.glob(SETTINGS[schema]))
    assert files
    judge = jsonschema.Draft202012Validator(json.loads((ROOT / schema).read_text("utf-8")))
    found = [f"{path.name}: {e.json_path}: {e.message[:200]}" for path in files for e in judge.iter_errors(plain(path))]
    assert not found[:5]


@pytest.mark.parametrize(
    ("schema", "file", "old", "new"),
    [
        ("catalog", "catalog/packages/peft.yaml", "packages:", "package:"),
        ("catalog", "catalog/packages/peft.yaml", "  grade: official", "  grade: certain"),
        ("catalog", "catalog/packages/peft.yaml", "  what: ", "  waht: "),
        ("catalog", "catalog/torch.yaml", "gfx: {set: ", "gfx: {sets: "),
        ("rows", "rows/code.yaml", "  status: ", "  state: "),
    ],
)
def test_a_mistake_is_marked(tmp_path: Path, schema: str, file: str, old: str, new: str) -> None:
    text = (ROOT / "compat_matrix" / file).read_text("utf-8")
    assert old in text
    (tmp_path / "a.yaml").write_text(text.replace(old, new, 1), "utf-8")
    body = json.loads((ROOT / f"compat_matrix/schemas/{schema}.json").read_text("utf-8"))
    assert list(jsonschema.Draft202012Validator(body).iter_errors(plain(tmp_path / "a.yaml")))
