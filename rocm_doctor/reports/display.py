"""How Python displays a report and a finding: `print`, notebooks, `Report.render`."""

from __future__ import annotations

from rocm_doctor.model import Finding, Report
from rocm_doctor.redaction.shared import redact_finding, redact_report
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.reports.markdown import render_finding
from rocm_doctor.reports.neutral import clean
from rocm_doctor.reports.places import message


def render_report(report: Report, format_: str, redact: bool) -> str:
    """The report in a format. Raises ValueError for an unknown one."""
    if format_ not in FORMATS:
        raise ValueError(f"format={format_!r}: expected one of {', '.join(FORMATS)}")
    return render(format_, redact_report(report) if redact else report, RenderOptions())


def render_shared(value: Report | Finding, form: str) -> str:
    """The redacted text, or Markdown for a notebook."""
    if isinstance(value, Report):
        return render_report(value, form, redact=True)
    finding = clean(redact_finding(value))
    return render_finding(finding) if form == "markdown" else message(finding)
