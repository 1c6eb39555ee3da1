"""GitLab's code quality report: a JSON array, shape at
https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from rocm_doctor.model import Finding, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.places import location, message

_SEVERITY = {"error": "critical", "warning": "major", "note": "info"}


def render(report: Report, look: RenderOptions) -> str:
    """One entry for each finding. A fingerprint must be unique within a file, so a repeated one gets a number."""
    seen: dict[str, int] = {}
    entries = [_entry(finding, seen) for finding in report.findings]
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"


def _entry(finding: Finding, seen: dict[str, int]) -> dict[str, Any]:
    file, line = location(finding)
    number = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
    return {
        "description": message(finding).split("\n")[0],
        "content": {"body": message(finding)},
        "check_name": finding.row or finding.id,
        "categories": ["Compatibility"],
        "fingerprint": hashlib.sha256(f"{finding.fingerprint} {number}".encode()).hexdigest(),
        "severity": _SEVERITY[finding.severity],
        "location": {"path": file or "rocm-doctor", "lines": {"begin": max(1, line)}},
    }
