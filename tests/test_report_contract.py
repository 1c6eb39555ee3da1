"""The promise of docs/report.md: old reports load, the schema describes every field, data and words are kept apart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.reports.json import SCHEMA_VERSION, read

ROOT = Path(__file__).resolve().parents[1]
OLD = sorted((ROOT / "tests" / "reports").glob("*.json"))
SCHEMA: dict[str, Any] = json.loads((ROOT / "rocm_doctor" / "schemas" / "report.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_report_of_every_version_loads(path: Path) -> None:
    plain = json.loads(path.read_text(encoding="utf-8"))
    report = read(path.read_bytes())
    assert [f.fingerprint for f in report.findings] == [f["fingerprint"] for f in plain["findings"]]
    assert report.findings[0].commands[0].text == "unset HSA_OVERRIDE_GFX_VERSION"
    assert report.snapshot.gpus[0].get("gfx").value == "gfx906"
    for name in ("text", "markdown", "sarif", "junit"):
        assert render(name, report, RenderOptions())


def test_there_is_an_old_report_and_a_line_in_the_page_for_every_version() -> None:
    versions = set(map(str, range(2, SCHEMA_VERSION + 1)))
    assert {path.stem.split("-")[0] for path in OLD} == versions
    assert set(re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)) == versions


def test_todays_report_fits_the_published_schema() -> None:
    report = pipeline.judge(pipeline.read_paths([ROOT / "fixtures" / "mi50-wrong-override"]), load())
    jsonschema.validate(json.loads(render("json", report, RenderOptions())), SCHEMA)


def test_the_schema_has_an_id_and_describes_every_field() -> None:
    assert SCHEMA["$id"].endswith("rocm_doctor/schemas/report.json")
    rows = json.loads((ROOT / "rocm_doctor" / "schemas" / "row.json").read_text(encoding="utf-8"))
    types = {**SCHEMA["$defs"], "Row": rows["$defs"]["Row"]}
    bare = [
        f"{name}.{field}"
        for name in ("Report", "Finding", "Undecided", "Reading", "Row")
        for field, entry in types[name]["properties"].items()
        if not entry.get("description")
    ]
    assert bare == []


def test_the_page_names_fields_and_values_that_exist() -> None:
    finding = SCHEMA["$defs"]["Finding"]["properties"]
    kinds = re.search(r"`findings\[\]\.subject_kind`: ([\w, ]+);", PAGE)
    judged = re.search(r"`kind`: ([\w, ]+) \|", PAGE)
    assert kinds
    assert sorted(kinds[1].split(", ")) == finding["subject_kind"]["enum"]
    assert judged
    assert sorted(judged[1].split(", ")) == SCHEMA["$defs"]["Report"]["properties"]["kind"]["enum"]
    assert all(field in finding for field in re.findall(r"`findings\[\]\.(\w+)", PAGE))


def test_an_unknown_field_of_a_later_version_is_no_obstacle() -> None:
    plain = json.loads(OLD[-1].read_text(encoding="utf-8"))
    plain["findings"][0]["colour"] = plain["mood"] = "blue"
    assert read(json.dumps(plain).encode()).findings


def test_rewording_changes_no_decision() -> None:
    """What a report is, what a finding is about and where a reading comes from are fields: their words may be any."""
    reading = {"artifact": "a.txt", "place": "line 3", "quote": "target practice"}
    finding = {"id": "a.b", "title": "t", "severity": "error", "confidence": "high", "cause": "c", "subject": "GPU tests"}
    head = {"schema_version": SCHEMA_VERSION, "tool_version": "0", "matrix_version": "m", "verdict": "problems", "summary": "s"}
    plain = {**head, "findings": [{**finding, "evidence": [reading]}], "undecided": [], "snapshot": {}, "source": "repository x"}
    machine = msgspec.convert(plain, Report)
    repository = msgspec.convert({**plain, "kind": "repository", "source": "any words"}, Report)
    assert "file=a.txt,line=3" not in render("github", machine, RenderOptions())
    assert "file=a.txt,line=3" in render("github", repository, RenderOptions())


def test_a_crashed_probe_keeps_the_verdict_open_whatever_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = pipeline.read_paths([ROOT / "fixtures" / "rx7900xtx-ready"])
    assert pipeline.judge(ready, load()).verdict == "ready"

    def probe(_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("rocm_doctor.probes.python.env.probe", probe)
    report = pipeline.judge([*ready, Artifact("env", "bundle", "A=1\n")], load())
    assert [e.origin for e in report.snapshot.errors] == ["probe"]
    assert report.verdict == "undetermined"
