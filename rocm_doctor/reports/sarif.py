"""SARIF 2.1.0, as code scanning reads it (https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/).

A rule is a diagnosis with its id as `ruleId`; a result is located at the first reading with a line, other readings are related
locations. `partialFingerprints` has ours, so an alert survives when lines move.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from rocm_doctor._version import PROJECT, page_of
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Reading, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.places import line_number, location, message

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report, look: RenderOptions) -> str:
    """One run with its rules and results."""
    ids = list(dict.fromkeys(f.id for f in report.findings))
    rules = [_rule(next(f for f in report.findings if f.id == id_)) for id_ in ids]
    driver = {"name": "rocm-doctor", "version": report.tool_version, "informationUri": PROJECT, "rules": rules}
    run = {
        "tool": {"driver": driver},
        **_category(report),
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": [_notification(e) for e in report.snapshot.errors]}
        ],
        "results": [_result(f, ids.index(f.id), report.kind == "repository") for f in report.findings],
        "properties": {
            "verdict": report.verdict,
            "summary": report.summary,
            "matrixVersion": report.matrix_version,
            "report": msgspec.to_builtins(report),
        },
    }
    return (
        msgspec.json.format(msgspec.json.encode({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}), indent=1).decode()
        + "\n"
    )


def _category(report: Report) -> dict[str, Any]:
    """A category for each declared target: code scanning takes only one run of a tool and a category."""
    gfx = [str(gpu.value("gfx")) for gpu in report.snapshot.gpus]
    return {"automationDetails": {"id": f"rocm-doctor/{gfx[0]}/"}} if report.kind == "environment" else {}


def _rule(finding: Finding) -> dict[str, Any]:
    """The diagnosis, whatever the finding says of this case."""
    known = load().diagnoses.get(finding.id)
    rule = {
        "id": finding.id,
        "shortDescription": {"text": known.title if known else finding.title},
        "fullDescription": {"text": f"{known.criterion} {known.cause}" if known else finding.cause or finding.title},
        "help": {"text": f"{known.advice if known else finding.advice}\nrocm-doctor explain {finding.id}"},
        "defaultConfiguration": {"level": finding.severity},
    }
    return {**rule, "helpUri": page_of(finding.id)} if known else rule


def _result(finding: Finding, index: int, in_repository: bool) -> dict[str, Any]:
    file, line = location(finding)
    others = [
        r
        for r in finding.evidence
        if r.artifact and r.origin not in ("target", "matrix") and (r.artifact, line_number(r)) != (file, line)
    ]
    related = [{"id": n, **_location(r.artifact, line_number(r), r.quote, in_repository)} for n, r in enumerate(others, 1)]
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": message(finding)},
        "locations": [_location(file, line, "", in_repository)] if file else [],
        "relatedLocations": related,
        "partialFingerprints": {"rocmDoctor/v1": finding.fingerprint},
        "properties": {
            "row": finding.row, "subject": finding.subject, "confidence": finding.confidence, "status": finding.status,
            "grade": finding.grade, "commands": [c.text for c in finding.commands], "sources": list(finding.sources),
        },
    }  # fmt: skip


def _location(artifact: str, line: int, words: str, in_repository: bool) -> dict[str, Any]:
    """The location of a reading: a file relative to the repository's root, or a logical location for a reading of a machine."""
    said = {"message": {"text": words}} if words else {}
    if not in_repository:
        return {
            "logicalLocations": [{"fullyQualifiedName": artifact + (f" line {line}" if line else ""), "kind": "resource"}],
            **said,
        }
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(artifact), "uriBaseId": "%SRCROOT%"}}
    return {"physicalLocation": {**place, "region": {"startLine": line}} if line else place, **said}


def _notification(error: Reading) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": f"{error.artifact}: {error.quote}"}}
