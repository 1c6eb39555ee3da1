"""Every fixture is a bundle of a machine whose folder says the answer; the same answer must come out of the zip of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Report
from rocm_doctor.redaction.shared import redact_artifacts
from rocm_doctor.sources import bundle

FIXTURES = Path(__file__).parent.parent / "fixtures"
MACHINES = sorted(p.parent for p in FIXTURES.glob("*/expected.yaml"))
SEVERITIES = ("none", "note", "warning", "error")


def judged(path: Path) -> Report:
    return pipeline.judge(pipeline.read_paths([path]), load())


def expected(folder: Path) -> dict[str, Any]:
    want: dict[str, Any] = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    return want


@pytest.mark.parametrize("folder", MACHINES, ids=lambda p: p.name)
def test_the_answer_that_a_maintainer_would_sign(folder: Path) -> None:
    want, report = expected(folder), judged(folder)
    ids = [f.id for f in report.findings]
    assert not report.snapshot.errors, "a probe broke or could not read its text"
    assert report.verdict == want["verdict"], report.summary
    assert set(want["has"]) <= set(ids)
    assert not set(want["never"]) & set(ids)
    if "first" in want:
        assert ids[0] == want["first"]
    worst = max((SEVERITIES.index(f.severity) for f in report.findings), default=0)
    assert worst <= SEVERITIES.index(want.get("worst", "error")), [f.title for f in report.findings]


@pytest.mark.parametrize("folder", MACHINES, ids=lambda p: p.name)
def test_every_finding_shows_what_was_read_and_who_says_so(folder: Path) -> None:
    for finding in judged(folder).findings:
        assert finding.evidence, f"{finding.id} has no evidence"
        assert finding.sources, f"{finding.id} has no source"
        assert finding.fingerprint


@pytest.mark.parametrize("folder", MACHINES, ids=lambda p: p.name)
def test_a_ticket_made_of_it_replays_to_the_same_findings(folder: Path, tmp_path: Path) -> None:
    artifacts = pipeline.read_paths([folder])
    ticket = tmp_path / "ticket.zip"
    ticket.write_bytes(bundle.write(redact_artifacts(artifacts), {}))
    before = [(f.id, f.row, f.severity) for f in judged(folder).findings]
    assert [(f.id, f.row, f.severity) for f in judged(ticket).findings] == before
