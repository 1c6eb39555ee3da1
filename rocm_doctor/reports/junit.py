"""JUnit XML: one suite, one test case a finding; a report without findings is one case that passed.

There is no single schema. This uses what the two common ones share: Jenkins' junit-10.xsd and the Ant schema of windyroad.
An error or a warning is a failure (of that type), a note is a passed case with its text in the suite's system-out.
"""

from __future__ import annotations

import datetime
from xml.sax.saxutils import escape, quoteattr

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Finding, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.places import finding_name, location, message, where

# Characters that XML 1.0 forbids even as references.
_FORBIDDEN = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, look: RenderOptions) -> str:
    """A `testsuites` document. Times are 0: a report has no durations."""
    cases = [_case(f) for f in report.findings] or [
        f'<testcase classname={_attr("rocm-doctor")} name={_attr(report.summary)} time="0"/>'
    ]
    failures = sum(f.severity != "note" for f in report.findings)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0"'
    suite = f'name="rocm-doctor" package="rocm-doctor" id="0" timestamp="{now}" hostname="localhost" {counts} time="0"'
    properties = "".join(f"<property name={_attr(n)} value={_attr(v)}/>" for n, v in _properties(report))
    notes = "\n\n".join(f"{finding_name(f)}: {message(f)}" for f in report.findings if f.severity == "note")
    tail = f"<system-out>{_text(notes)}</system-out>\n<system-err>{_text(_undecided_text(report))}</system-err>"
    body = "\n".join([f"<properties>{properties}</properties>", *cases, tail])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite {suite}>\n{body}\n</testsuite>\n</testsuites>\n'


def _properties(report: Report) -> list[tuple[str, str]]:
    return [
        ("tool", report.tool_version),
        ("matrix", report.matrix_version),
        ("verdict", report.verdict),
        ("source", report.source),
        *(("not judged", check.name) for check in report.checks if check.state == "not-judged"),
    ]


def _undecided_text(report: Report) -> str:
    return "\n".join(f"undecided: {u.row or u.id}: needs {', '.join(u.missing)}" for u in report.undecided)


def _case(finding: Finding) -> str:
    file, line = location(finding)
    name = finding.title + where(finding) + (f" at {file}:{line}" if line else "")
    head = f'<testcase classname={_attr("rocm-doctor." + finding_name(finding))} name={_attr(name)} time="0"'
    if finding.severity == "note":
        return head + "/>"
    read = "\n".join(f"read: {r.artifact} {r.place}: {r.quote}" for r in finding.evidence)
    failure = f"<failure type={_attr(finding.severity)} message={_attr(finding.title)}>"
    return f"{head}>{failure}{_text(message(finding))}\n{_text(read)}</failure></testcase>"


def _attr(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", " ".join(text.split())))


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
