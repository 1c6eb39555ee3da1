"""One JSON object a line, for tools that read line by line: the report's head, each finding, each undecided check, the snapshot."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions


def render(report: Report, look: RenderOptions) -> str:
    """Lines with a `kind` of report, finding, snapshot or undecided."""
    head = {
        name: getattr(report, name)
        for name in ("schema_version", "tool_version", "matrix_version", "source", "verdict", "summary", "proven")
    }
    lines = [_line("report", {**head, "report_kind": report.kind})]
    lines += [_line("finding", msgspec.to_builtins(finding)) for finding in report.findings]
    lines += [_line("undecided", msgspec.to_builtins(one)) for one in report.undecided]
    lines += [_line("snapshot", {"snapshot": msgspec.to_builtins(report.snapshot)})]
    return "".join(lines)


def _line(kind: str, values: dict[str, Any]) -> str:
    return msgspec.json.encode({"kind": kind, **values}).decode() + "\n"
