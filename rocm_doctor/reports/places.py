"""The place of a finding, for formats that open a file at a line."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import GUESS, Finding, Reading, Report

_GPU = regex(r"(GPUs? [\d, -]+) \((gfx\w+)\)")
_LINE = regex(r"line (\d+)")


def of_repository(report: Report) -> bool:
    """True for a report on a repository: its readings' artifacts are files."""
    return report.kind == "repository"


def line_of(reading: Reading) -> int:
    """The line of a reading; 0 if its place is not a line."""
    found = _LINE.match(reading.place)
    return int(found[1]) if found else 0


def location(finding: Finding) -> tuple[str, int]:
    """File and line of the first reading that has a line; without one, the first artifact and 0."""
    at = next((r for r in finding.evidence if line_of(r)), None)
    if at:
        return at.artifact, line_of(at)
    return (finding.evidence[0].artifact if finding.evidence else "", 0)


def name_of(finding: Finding) -> str:
    """`id [row]`, as `explain` and `--ignore` take them."""
    return finding.id + (f" [{finding.row}]" if finding.row else "")


SURE = {"high": "", "medium": ", likely", "low": ", a hypothesis"}
"""Words for a confidence, behind the severity."""


def certainty(finding: Finding) -> str:
    """Severity and confidence in words: `error`, `warning, a hypothesis`; `a guess` for what the differential says alone."""
    if finding.origin == GUESS:
        return "a guess from the words of the text"
    return finding.severity + SURE[finding.confidence]


def followers(report: Report, finding: Finding) -> list[Finding]:
    """The consequences of this finding, each title once, in the report's order."""
    found = (f for f in report.findings if f.follows_from and f.follows_from == (finding.row or finding.id))
    return list({f.title: f for f in found}.values())


class Answer(NamedTuple):
    """What a person reads: the findings shown whole, the two to think of next, and how many more there are."""

    whole: list[Finding]
    possible: list[Finding]
    more: int = 0


MOST_POSSIBLE = 2
_QUOTED = 110
"""Characters of a line that is quoted as a reason."""


def answer(report: Report) -> Answer:
    """The answer of a report: its first finding and every other that evidence decides; then what else it may be.

    What the differential says alone is left out beside a finding of a row or a rule, and is no answer beside the opinion of a
    language model, which reads better. A repository has many problems at once: all of its findings are shown whole.
    """
    serious = [f for f in report.findings if f.severity != "note" and not f.follows_from]
    if report.kind == "repository":
        return Answer(serious, [])
    decided = any(f.confidence == "high" and f.leads for f in serious)
    read = report.opinion is not None and bool(report.opinion.causes)
    whole = [
        f for n, f in enumerate(serious) if f.leads and (n == 0 or f.confidence == "high") and not (read and f.origin == GUESS)
    ]
    found = any(f.leads and f.origin != GUESS for f in serious)
    rest = [f for f in serious if f not in whole and not (decided and f.alternative) and not (found and f.origin == GUESS)]
    return Answer(whole, rest[:MOST_POSSIBLE], len(rest[MOST_POSSIBLE:]))


def because(finding: Finding) -> str:
    """The line or fact that speaks for a finding, quoted."""
    first = next(iter(finding.evidence), None)
    if first is None:
        return ""
    at = f"{first.artifact} {first.place}".strip()
    quote = textwrap.shorten(first.quote, _QUOTED, placeholder=" ...")
    return f'because {at} says "{quote}"' if first.origin == "text" else f"because {quote or at}"


def first_sentence(text: str) -> str:
    """The first sentence of an advice."""
    return text.partition(". ")[0].removesuffix(".") + "."


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
