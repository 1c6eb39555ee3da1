"""GitHub workflow commands: one annotation for each finding.

Form and escapes: https://docs.github.com/actions/reference/workflow-commands-for-github-actions ; at most ten errors and ten
warnings of one step are shown, so the report's order (root causes first) decides which.
"""

from __future__ import annotations

from rocm_doctor.model import Finding, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.places import finding_name, location, message

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, look: RenderOptions) -> str:
    """`::error file=...,line=...,title=...::message` for each finding, and the verdict as a plain line."""
    lines = [_annotation(finding, report.kind == "repository") for finding in report.findings]
    return "\n".join([*lines, f"rocm-doctor: {_data(report.summary)}"]) + "\n"


def _annotation(finding: Finding, in_repository: bool) -> str:
    file, line = location(finding)
    at = [f"file={_property(file)}", f"line={max(1, line)}"] if in_repository and file else []
    properties = ",".join([*at, f"title={_property('rocm-doctor: ' + finding_name(finding))}"])
    return f"::{_COMMAND[finding.severity]} {properties}::{_data(message(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
