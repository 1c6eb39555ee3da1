"""The shortest complete text, for coding agents: the verdict, each root cause with its evidence and commands, and what to ask.

One statement a line, without colour and wrapping. A note is one line: `rocm-doctor explain` has the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.commands import remarks
from rocm_doctor.model import NO_FAULT, Command, Finding, Reading, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.answer import lines, whole_findings
from rocm_doctor.reports.machine import gpu_lines, stack_lines
from rocm_doctor.reports.places import finding_name, line_number, where

_SUMMED_UP = 3
"""Likely diagnoses and readings of a finding, at most."""


def render(report: Report, look: RenderOptions) -> str:
    """Lines of `key: value`, the verdict first."""
    return "\n".join(line.replace("\n", " ") for line in _lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"verdict: {report.verdict}: {report.summary}"
    machine = [*(f"{label} {words}" for label, words in gpu_lines(report.snapshot)), *map(" ".join, stack_lines(report.snapshot))]
    if machine:
        yield f"machine: {'; '.join(machine)}"
    for finding in whole_findings(report):
        yield from _finding(finding)
    for line in lines(report):
        yield f"{line.label}: {line.words}"
        yield from _commands("run", line.commands)
    notes = [f for f in report.findings if f.severity == "note" and f.status not in NO_FAULT and not f.follows_from]
    yield from dict.fromkeys(f"note {finding_name(note)}: {note.title}" for note in notes)
    for question in report.questions:
        yield f"unknown: {question.asks}"
        yield from _commands("run", (question.command,))


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity} ({finding.confidence} confidence) {finding_name(finding)}: {finding.title}{where(finding)}"
    yield f"  cause: {finding.cause}"
    quotes = dict.fromkeys(_read(r) for r in finding.evidence if r.quote)
    yield from (f"  evidence: {quote}" for quote in list(quotes)[:_SUMMED_UP])
    if finding.advice:
        yield f"  fix: {finding.advice}"
    yield from _commands("run", finding.commands)
    yield from _commands("verify", finding.verify)
    if finding.sources:
        yield f"  source ({finding.grade}): {finding.sources[0]}"


def _read(reading: Reading) -> str:
    line = line_number(reading)
    return f"{reading.artifact}{f':{line}' if line else ''}: {' '.join(reading.quote.split())}"


def _commands(label: str, commands: tuple[Command, ...]) -> Iterator[str]:
    for command in commands:
        said = remarks(command)
        yield f"  {label}{f' ({said})' if said else ''}: {command.text}"
