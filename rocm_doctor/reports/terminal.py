"""The report for the terminal: one sentence for a healthy machine, else evidence and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from rocm_doctor.commands import remarks, settings
from rocm_doctor.model import NO_FAULT, Command, Finding, Report, Snapshot, Undecided
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.answer import AnswerLine, finding_lines, lines, whole_findings
from rocm_doctor.reports.lines import wrap_words
from rocm_doctor.reports.machine import fact_lines, gpu_lines, stack_lines
from rocm_doctor.reports.places import certainty, finding_name, request, where

_MARK = {"error": ("✗", "red"), "warning": ("!", "yellow"), "note": ("·", "cyan")}
_LABEL = 10
"""Columns of a label of answer.py."""
_EVIDENCE = 4
"""Readings of a finding that a short report shows, at most."""
_VERDICT = {"ready": ("✓", "green"), "problems": ("✗", "red"), "undetermined": ("?", "yellow")}


def render(report: Report, look: RenderOptions) -> str:
    """Text of at most `look.width` columns, in colour if `look.color`."""
    text = "\n".join(_verdict_only(report, look) if look.quiet else _whole(report, look)) + "\n"
    return text if look.color else click.unstyle(text)


def _whole(report: Report, look: RenderOptions) -> Iterator[str]:
    repository = report.kind == "repository"
    notes = [f for f in report.findings if f.severity == "note" and f.leads and (look.verbose or f.status not in NO_FAULT)]
    yield from _verdict_only(report, look) if repository else ()
    yield from _machine(report, look)
    if report.verdict != "problems":
        yield from _checks(report, look)
    for finding in [*whole_findings(report), *(notes if look.verbose else ())]:
        yield ""
        yield from _finding(finding, report, look)
    if not look.verbose:
        yield from _notes(notes, look)
    others = list(lines(report))
    yield from ("",) if others else ()
    yield from _label_lines(others, look)
    if look.verbose:
        yield from _undecided_groups(report.undecided, look)
        yield from _readings(report.snapshot, look)
    if not repository:
        yield ""
        yield from _verdict_only(report, look)
    yield from _questions(report, look)
    if report.undecided and not look.verbose and report.verdict == "undetermined":
        count = f"{len(report.undecided)} check{'s' if len(report.undecided) > 1 else ''}"
        yield click.style(f"  {count} skipped: missing facts; -v lists them", dim=True)


def _verdict_only(report: Report, look: RenderOptions) -> Iterator[str]:
    minor = report.verdict == "problems" and all(f.severity != "error" for f in report.findings)
    mark, color = _MARK["warning"] if minor else _VERDICT[report.verdict]
    proven = f"; ran: {', '.join(report.proven)}" if report.proven else ""
    unproven = (
        "; not tested: rocm-doctor smoke computes on the GPU"
        if report.verdict == "ready" and not report.proven and report.kind not in ("repository", "environment")
        else ""
    )
    yield from _wrap(f"{mark} {report.summary}{proven}{unproven}", look, "", "  ", color)


def _questions(report: Report, look: RenderOptions) -> Iterator[str]:
    """What to ask, as a block to copy: each command alone on its line."""
    if report.questions:
        yield from (click.style(line, dim=True) for line in wrap_words(request(report), look.width, "  ", "  "))
        yield ""
        yield from (f"  $ {question.command.text}" for question in report.questions)
        yield ""


def _machine(report: Report, look: RenderOptions) -> Iterator[str]:
    """The machine: one line for each GPU, one for the stack."""
    yield click.style(f"rocm-doctor {report.tool_version}, matrix {report.matrix_version}: {report.source}", dim=True)
    for label, words in gpu_lines(report.snapshot):
        yield from _wrap(words, look, f"  {label:<5}  ", "         ")
    stack = [f"{label} {value}" for label, value in stack_lines(report.snapshot)]
    if stack:
        yield from _wrap(", ".join(stack), look, "  stack  ", "         ")
    for error in report.snapshot.errors:
        yield from _wrap(f"not read: {error.artifact}: {error.quote}", look, "  ", "    ", "yellow")
    for dispute in report.disputes if look.verbose else ():
        yield from _wrap(f"disputed: {dispute}", look, "  ", "    ", "yellow")


_CHECKED = {"ok": ("✓", "green"), "unknown": ("?", "yellow")}


def _checks(report: Report, look: RenderOptions) -> Iterator[str]:
    """A line for each checked part; unread parts only if all others were read. The verdict names those that are not judged."""
    for check in report.checks:
        if check.state == "ok" or (check.state == "unknown" and report.verdict == "ready"):
            mark, color = _CHECKED[check.state]
            first = f"  {click.style(mark, fg=color)} {check.name:<9}  "
            yield from _wrap(check.words or "not read", look, first, " " * 15)


def _finding(finding: Finding, report: Report, look: RenderOptions) -> Iterator[str]:
    mark, color = _MARK[finding.severity]
    yield from _wrap(f"{mark} {finding.title}{where(finding)}", look, "", "  ", color)
    yield click.style(f"  {certainty(finding)} · {finding_name(finding)}", dim=True)
    yield from _label_lines(finding_lines(finding, report, None if look.verbose else _EVIDENCE), look)


def _notes(notes: list[Finding], look: RenderOptions) -> Iterator[str]:
    """Notes, one line each, with the commands that unset a variable (`explain` and -v print the rest); equal notes on several GPUs share a line."""
    if notes:
        yield ""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for note in notes:
        alike.setdefault((note.title, note.row or note.id), []).append(note)
    for (title, name), group in alike.items():
        what = "places" if group[0].subject_kind in ("environment", "file") else "GPUs"
        about = where(group[0]) if len(group) == 1 else f" {'in' if what == 'places' else 'on'} {len(group)} {what}"
        yield from _wrap(f"{_MARK['note'][0]} {title}{about}  [{name}]", look, "", "  ", _MARK["note"][1])
        if any(None in settings(command).values() for command in group[0].commands):
            yield from command_lines("", group[0].commands, look.width)


def _label_lines(lines: Iterable[AnswerLine], look: RenderOptions) -> Iterator[str]:
    """Each line behind its label, which is printed once for lines that share it, and the commands below it."""
    last = ""
    for line in lines:
        label, last = "" if line.label == last else line.label, line.label
        if line.words:
            yield from _wrap(line.words, look, f"  {label:<{_LABEL}}", " " * (_LABEL + 2))
        yield from command_lines("" if line.words else label, line.commands, look.width)


def command_lines(label: str, commands: Iterable[Command], width: int) -> Iterator[str]:
    """Commands under a label, each behind a `$` and complete on one line; one longer than `width` starts a line of its own."""
    for command in commands:
        short = f"  {label:<{_LABEL}}$ {command.text}"
        if len(short) <= width:
            yield click.style(short[: _LABEL + 2], dim=True) + click.style(short[_LABEL + 2 :], bold=True)
        else:
            yield from [click.style(f"  {label}", dim=True)] if label else []
            yield click.style(f"  $ {command.text}", bold=True)
        said = remarks(command)
        yield from (
            click.style(line, dim=True) for line in wrap_words(f"({said})", width, " " * (_LABEL + 2), " " * (_LABEL + 2)) if said
        )
        label = ""


def _wrap(text: str, look: RenderOptions, first: str, rest: str, color: str | None = None) -> Iterator[str]:
    lines = wrap_words(" ".join(text.split()), look.width, first, rest)
    yield from (click.style(line, fg=color, bold=color == "red") if color else line for line in lines)


def _undecided_groups(undecided: Iterable[Undecided], look: RenderOptions) -> Iterator[str]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in undecided:
        groups.setdefault(one.missing, []).append(one.row or one.id)
    if groups:
        yield ""
        yield "Undecided: missing facts"
    for missing, names in groups.items():
        yield from _wrap(f"{', '.join(missing)}: {', '.join(dict.fromkeys(names))}", look, "  ", "    ")


def _readings(snapshot: Snapshot, look: RenderOptions) -> Iterator[str]:
    yield ""
    yield "Read"
    for line in fact_lines(snapshot):
        yield from _wrap(line, look, "  ", "      ")
