"""The shortest complete text, for coding agents: the verdict, each root cause with its evidence and commands, and what to ask.

One statement a line, without colour and wrapping. A note is one line: `rocm-doctor explain` has the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocm_doctor.commands import remarks
from rocm_doctor.model import NO_FAULT, Finding, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.answer import AnswerLine, finding_lines, lines, whole_findings
from rocm_doctor.reports.machine import gpu_lines, stack_lines
from rocm_doctor.reports.places import finding_name, where

_EVIDENCE = 3
"""Readings of a finding, at most."""


def render(report: Report, look: RenderOptions) -> str:
    """Lines of `key: value`, the verdict first."""
    return "\n".join(line.replace("\n", " ") for line in _lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"verdict: {report.verdict}: {report.summary}"
    machine = [*(f"{label} {words}" for label, words in gpu_lines(report.snapshot)), *map(" ".join, stack_lines(report.snapshot))]
    if machine:
        yield f"machine: {'; '.join(machine)}"
    for finding in whole_findings(report):
        yield from _finding(finding, report)
    yield from _label_lines(lines(report))
    notes = [f for f in report.findings if f.severity == "note" and f.status not in NO_FAULT and not f.follows_from]
    yield from dict.fromkeys(f"note {finding_name(note)}: {note.title}" for note in notes)
    for question in report.questions:
        yield f"unknown: {question.asks}"
        yield f"run: {question.command.text}"


def _finding(finding: Finding, report: Report) -> Iterator[str]:
    yield f"{finding.severity} ({finding.confidence} confidence) {finding_name(finding)}: {finding.title}{where(finding)}"
    yield from (f"  {line}" for line in _label_lines(finding_lines(finding, report, _EVIDENCE)))


def _label_lines(lines: Iterable[AnswerLine]) -> Iterator[str]:
    for line in lines:
        if line.words:
            yield f"{line.label}: {line.words}"
        for command in line.commands:
            said = remarks(command)
            yield f"{line.label if line.label in ('verify', 'settle') else 'run'}{f' ({said})' if said else ''}: {command.text}"
