"""Markdown for issues, pull requests and job summaries: short, with the long parts folded."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from rocm_doctor.commands import remarks
from rocm_doctor.model import Command, Finding, Reading, Report
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.machine import gpu_lines, stack_of
from rocm_doctor.reports.packed import packed
from rocm_doctor.reports.places import SURE, followers, location, name_of, request, where

_MARK = {"ready": "✅", "problems": "❌", "undetermined": "❔"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")

_SPAN = re.compile(r"`([^`\s][^`]*)`")


def render(report: Report, look: RenderOptions) -> str:
    """GitHub-flavoured Markdown that ends with a newline. Text from outside cannot start markup, HTML or a mention."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## {_MARK[report.verdict]} {prose(report.summary)}"
    yield ""
    yield f"rocm-doctor {escaped(report.tool_version)}, matrix {escaped(report.matrix_version)}, {escaped(report.source)}"
    yield from _machine(report)
    for finding in report.findings:
        if not finding.follows_from:
            yield from _finding(finding, followers(report, finding))
    yield from _folded(
        "Likely diagnoses",
        (f"- {one.probability:.0%} {escaped(one.id)}: {escaped(', '.join(one.because))}" for one in report.differential),
    )
    yield from _folded(
        "Similar confirmed reports",
        (f"- {escaped(s.thread)}: {escaped(s.cause)} {escaped(s.fix)}" for one in report.differential for s in one.similar),
    )
    if report.questions:
        yield f"\n{request(report)}"
        yield from _block(q.command for q in report.questions)
    yield from _folded(
        "Not decided", (f"- {escaped(u.row or u.id)}: needs {escaped(', '.join(u.missing))}" for u in report.undecided)
    )
    yield from _folded("Disputed", (f"- {escaped(d)}" for d in report.disputes))
    data = packed(report)
    yield from ("", data) if data else ()


def _machine(report: Report) -> Iterator[str]:
    rows = [*gpu_lines(report.snapshot), *stack_of(report.snapshot)]
    if report.verdict == "ready":
        rows += [(f"✓ {check.name}", check.words) for check in report.checks if check.state == "ok"]
    if rows:
        yield ""
        yield "| | |"
        yield "|---|---|"
        yield from (f"| {escaped(label)} | {escaped(value)} |" for label, value in rows)


def _finding(finding: Finding, following: list[Finding]) -> Iterator[str]:
    yield ""
    yield f"### {finding.severity}{SURE[finding.confidence]}: {prose(finding.title + where(finding))}"
    yield ""
    file, line = location(finding)
    at = f", {_code(f'{file}:{line}')}" if line else ""
    yield f"{prose(finding.cause)} ({_code(name_of(finding))}{at})"
    if finding.advice:
        yield f"\n{prose(finding.advice)}"
    yield from _block(finding.commands)
    if finding.verify:
        yield "\nThen check:"
        yield from _block(finding.verify)
    if following:
        yield "\nLeads to: " + "; ".join(prose(f.title) for f in following)
    evidence = [_reading(r) for r in finding.evidence] + [f"- says ({finding.grade}): {escaped(s)}" for s in finding.sources]
    yield from _folded("Evidence and sources", evidence)


def _reading(reading: Reading) -> str:
    return f"- {_code(f'{reading.artifact} {reading.place}'.strip())} {_code(reading.quote) if reading.quote else ''}".rstrip()


def _block(commands: Iterable[Command]) -> Iterator[str]:
    """Commands in code blocks, one for each shell, with the note on a command behind its block."""
    for shell, group in itertools.groupby(commands, lambda command: command.shell):
        ours = list(group)
        text = "\n".join(command.text for command in ours)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        yield f"\n{fence}{shell}\n{text}\n{fence}"
        yield from (f"\n{_code(command.text)}: {escaped(said)}" for command in ours if (said := remarks(command)))


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield f"\n<details><summary>{title}</summary>\n"
        yield from body
        yield "\n</details>"


def escaped(text: str) -> str:
    """Escaped text: no markup, no HTML, no line break; an invisible blank keeps `@name` from notifying anyone."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u200b")


def prose(text: str) -> str:
    """Sentences, in which `words` in backticks stay code. Within a code span nothing else is markup."""
    parts = _SPAN.split(text)
    return "".join(_code(part) if n % 2 else _piece(part) for n, part in enumerate(parts))


def _piece(text: str) -> str:
    """Text between code spans: escaped, with its blanks at both ends."""
    return (" " if text[:1].isspace() else "") + escaped(text) + (" " if text[-1:].isspace() and text.strip() else "")


def _code(text: str) -> str:
    """An inline code span that its own text cannot close."""
    flat = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if flat[:1] == "`" or flat[-1:] == "`" else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""
