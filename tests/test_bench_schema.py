"""The JSON of `rocm-doctor bench` is a contract: other tools read its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner

from rocm_doctor.cli import cli
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


def test_two_reports_are_compared_by_diff(tmp_path: Path) -> None:
    for name, value, verdict in (("before", 800.0, "as expected"), ("after", 500.0, "slow")):
        figure = Figure(0, "memory-triad", value, "GB/s", 0.01, verdict=verdict)  # type: ignore[arg-type]
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(REPORT, figures=(figure,))))
    done = CliRunner().invoke(cli, ["diff", str(tmp_path / "before.json"), str(tmp_path / "after.json")])
    assert done.exit_code == 0, done.output
    assert "rate.memory-triad: 800 -> 500" in done.output.replace(".0", "")
    assert "speed.memory-triad: as-expected -> slow" in done.output
