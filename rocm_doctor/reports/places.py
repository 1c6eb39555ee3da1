"""The place of a finding, for formats that open a file at a line."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Finding, Reading, Report

_GPU = regex(r"(GPUs? [\d, -]+) \((gfx\w+)\)")
_LINE = regex(r"line (\d+)")


def line_number(reading: Reading) -> int:
    """The line of a reading; 0 if its place is not a line."""
    found = _LINE.match(reading.place)
    return int(found[1]) if found else 0


def location(finding: Finding) -> tuple[str, int]:
    """(file, line) of the first reading that has a line; without one, the first artifact and 0."""
    at = next((r for r in finding.evidence if line_number(r)), None)
    if at:
        return at.artifact, line_number(at)
    return (finding.evidence[0].artifact if finding.evidence else "", 0)


def finding_name(finding: Finding) -> str:
    """`id [row]`, as `explain` and `--ignore` take them."""
    return finding.id + (f" [{finding.row}]" if finding.row else "")


_SURE = {"high": "", "medium": ", likely", "low": ", a hypothesis"}
"""Words for a confidence, behind the severity."""


def certainty(finding: Finding) -> str:
    """Severity and confidence in words: `error`, `warning, a hypothesis`."""
    return finding.severity + _SURE[finding.confidence]


def followers(report: Report, finding: Finding) -> list[Finding]:
    """The consequences of this finding, each title once, in the report's order."""
    found = (f for f in report.findings if f.follows_from and f.follows_from == (finding.row or finding.id))
    return list({f.title: f for f in found}.values())


def request(report: Report) -> str:
    """The words above the questions. Where no system is known the commands are those of Linux."""
    if report.kind == "machine":
        return "What these print would tell more; paste it into `rocm-doctor check -`:"
    either = "" if report.snapshot.get("platform").known else " (these are for Linux; on Windows, say so)"
    return f"Run this where it fails, and paste it with its output{either}:"


def where(finding: Finding) -> str:
    """The subject to append to a title: ` (GPU 0, gfx1100)`, or ` (GPU 0)` where the title names the target; ` in Dockerfile`; empty if
    the title names it."""
    if not finding.subject or finding.subject in finding.title:
        return ""
    gpu = _GPU.fullmatch(finding.subject)
    if gpu:
        return f" ({gpu[1]}{'' if gpu[2] in finding.title else f', {gpu[2]}'})"
    of_machine = finding.subject_kind in ("gpu", "target") or not location(finding)[1]
    return f" {'on' if of_machine else 'in'} {finding.subject}"


def message(finding: Finding) -> str:
    """Title, cause and advice in a few lines of plain text."""
    parts = [
        finding.title + where(finding),
        finding.cause,
        finding.advice,
        *(f"$ {command.text}" for command in finding.commands),
    ]
    return "\n".join(part for part in parts if part)
