"""The JSON of `rocm-doctor bench` is a contract: other tools read its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rocm_doctor.figures.types import BenchReport, Device, Figure

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[1] / "rocm_doctor" / "schemas" / "bench.json").read_text("utf-8"))
REPORT = BenchReport(
    tool_version="1",
    matrix_version="1",
    gpus=(Device(0, "hip", "AMD Radeon RX 7900 XTX"),),
    figures=(Figure(0, "memory-triad", 800.0, "GB/s", 0.01),),
)


def test_a_report_fits_the_published_schema() -> None:
    jsonschema.validate(json.loads(msgspec.json.encode(REPORT)), SCHEMA)


@pytest.mark.parametrize("field", ["gpu", "name", "value", "unit", "spread", "reference", "share", "verdict"])
def test_every_figure_has_what_other_tools_read(field: str) -> None:
    plain = json.loads(msgspec.json.encode(REPORT))["figures"][0]
    assert field in plain
    del plain[field]
    required = SCHEMA["$defs"]["Figure"]["required"]
    assert field not in ("gpu", "name", "value", "unit", "spread") or field in required


def test_every_field_of_a_figure_is_described() -> None:
    bare = [name for name, entry in SCHEMA["$defs"]["Figure"]["properties"].items() if not entry.get("description")]
    assert bare == []
