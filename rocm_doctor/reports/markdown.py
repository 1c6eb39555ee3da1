"""Markdown for issues, pull requests and job summaries: short, with the long parts folded."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.model import Finding, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.answer import AnswerLine, finding_lines, lines, whole_findings
from rocm_doctor.reports.machine import gpu_lines, stack_lines
from rocm_doctor.reports.markup import block, code, escape, fold, prose, reading
from rocm_doctor.reports.places import certainty, finding_name, location, request, where

_MARK = {"ready": "✅", "problems": "❌", "undetermined": "❔"}
_LINK = regex(r"https://[\w.-]+(?:/[\w./%#?=&+~@:,;-]*)?")
_MOST_PACKED = 40_000
"""Characters of the comment with the report, at most: a ticket holds 65,536 in all."""


def render(report: Report, look: RenderOptions) -> str:
    """GitHub-flavoured Markdown that ends with a newline. Text from outside cannot start markup, HTML or a mention."""
    return "\n".join(_lines(report)) + "\n"


def render_finding(finding: Finding) -> str:
    """One finding, for a notebook."""
    return "\n".join(_finding(finding)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## {_MARK[report.verdict]} {prose(report.summary)}"
    yield ""
    yield f"rocm-doctor {escape(report.tool_version)}, matrix {escape(report.matrix_version)}, {escape(report.source)}"
    yield from _machine(report)
    for finding in [*whole_findings(report), *(f for f in report.findings if f.severity == "note" and f.leads)]:
        yield from _finding(finding, report)
    yield from _label_lines(lines(report))
    if report.questions:
        yield f"\n{request(report)}"
        yield from block(q.command for q in report.questions)
    yield from fold("Not decided", (f"- {escape(u.row or u.id)}: needs {escape(', '.join(u.missing))}" for u in report.undecided))
    yield from fold("Disputed", (f"- {escape(d)}" for d in report.disputes))
    data = _pack(report)
    yield from ("", data) if data else ()


def _machine(report: Report) -> Iterator[str]:
    rows = [*gpu_lines(report.snapshot), *stack_lines(report.snapshot)]
    if report.verdict == "ready":
        rows += [(f"✓ {check.name}", check.words) for check in report.checks if check.state == "ok"]
    if rows:
        yield ""
        yield "| | |"
        yield "|---|---|"
        yield from (f"| {escape(label)} | {escape(value)} |" for label, value in rows)


def _finding(finding: Finding, report: Report | None = None) -> Iterator[str]:
    yield ""
    yield f"### {certainty(finding)}: {prose(finding.title + where(finding))}"
    yield ""
    file, line = location(finding)
    at = f", {code(f'{file}:{line}')}" if line else ""
    yield f"{code(finding_name(finding))}{at}"
    yield from _label_lines(one for one in finding_lines(finding, report) if one.label not in ("evidence", "source"))
    evidence = [reading(r) for r in finding.evidence] + [f"- says ({finding.grade}): {_source(s)}" for s in finding.sources]
    yield from fold("Evidence and sources", evidence)


def _label_lines(lines: Iterable[AnswerLine]) -> Iterator[str]:
    for line in lines:
        yield f"\n{f'*{line.label}*: ' if line.label else ''}{prose(line.words)}".rstrip()
        yield from block(line.commands)


def _source(source: str) -> str:
    """A citation: its address as a link if it is plain https, the rest as text."""
    ref = parse_citation(source).ref
    return f"<{ref}> {escape(source[len(ref) :])}".strip() if source.startswith(ref) and _LINK.fullmatch(ref) else escape(source)


def _pack(report: Report) -> str:
    """The whole report in one comment, from which `check` reads it back; empty if it would be too long."""
    data = base64.b64encode(zlib.compress(msgspec.json.encode(report), 9)).decode()
    return f"<!-- rocm-doctor report: {data} -->" if len(data) <= _MOST_PACKED else ""
