"""What a reader is told of a report, as labelled lines for every format: of each finding, and of all that is beside the findings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.model import Command, Finding, Opinion, Proof, Proposal, Report
from rocm_doctor.reports.places import followers, where

MOST_POSSIBLE = 2
"""Other possible findings that are named, at most."""
_CITED = 2
"""Sources of a finding that are named, at most."""
_QUOTED = 110
"""Characters of a line that is quoted as a reason."""
PROOFS: dict[Proof, str] = {"proven": "checked", "corrected": "corrected", "word": "its word", "withheld": "withheld"}
"""Labels of what a language model proposes."""


class AnswerLine(NamedTuple):
    """A label, a sentence, and commands to paste."""

    label: str
    words: str
    commands: tuple[Command, ...] = ()


def whole_findings(report: Report) -> list[Finding]:
    """The first root cause, if there is no opinion instead, and every other that evidence decides; of a repository all of them."""
    roots = [f for f in report.findings if f.severity != "note" and f.leads]
    instead = report.opinion and report.opinion.causes
    return (
        roots
        if report.kind == "repository"
        else [f for n, f in enumerate(roots) if f.confidence == "high" or (n == 0 and not instead)]
    )


def finding_lines(finding: Finding, report: Report | None = None, evidence: int | None = None) -> list[AnswerLine]:
    """The lines of one finding: why, what was read (at most `evidence` readings), what to type, who says so, and what follows from it."""
    read = dict.fromkeys(f"{r.artifact} {r.place}: {r.quote}".replace(" :", ":") for r in finding.evidence)
    related = [follower.title for follower in followers(report, finding)] if report else []
    lines = [
        AnswerLine("cause", finding.cause),
        *(AnswerLine("evidence", one) for one in list(read)[:evidence]),
        AnswerLine("fix", finding.advice, finding.commands),
        AnswerLine("verify", "", finding.verify),
        AnswerLine("settle", "", (finding.settle,) if finding.settle else ()),
        AnswerLine("source", _cite(finding.sources, f"{finding.grade}: " if finding.row else "")),
        AnswerLine("source", _cite(finding.cure_sources, f"of the fix ({finding.cure_grade}): ")),
        *(AnswerLine("related", title) for title in related if title != finding.title),
    ]
    return [line for line in lines if line.words or line.commands]


def _cite(sources: Sequence[str], grade: str) -> str:
    more = f" and {len(sources) - _CITED} more" if len(sources) > _CITED else ""
    return f"{grade}{'; '.join(sources[:_CITED])}{more}" if sources else ""


def lines(report: Report) -> Iterator[AnswerLine]:
    """What else there is to say: a second opinion, what else it may be, solved reports."""
    if report.opinion:
        yield AnswerLine("opinion", _heading(report.opinion))
        yield from _opinion(report.opinion)
    yield from _possible(report)
    if not (report.opinion and report.opinion.causes):
        for number, one in enumerate(report.guesses):
            more = () if number else (Command(f"rocm-doctor explain {one.id}", effect="reads"),)
            yield AnswerLine("guess", f"the words read like this: {one.title} [{one.id}]", more)
    yield from (AnswerLine("solved", f"{s.thread}: {s.cause} Fix: {s.fix}") for s in report.solved)


def _possible(report: Report) -> Iterator[AnswerLine]:
    """The root causes that are not shown whole, a sentence each, with the line or fact that speaks for it."""
    shown = whole_findings(report)
    rest = [f for f in report.findings if f.severity != "note" and f.leads and f not in shown]
    for one in rest[:MOST_POSSIBLE]:
        fix = f". Fix: {one.advice.partition('. ')[0].removesuffix('.')}." if one.advice else ""
        yield AnswerLine("possible", f"{one.title}{where(one)} [{one.row or one.id}]{_because(one)}{fix}")
    if len(rest) > MOST_POSSIBLE:
        yield AnswerLine("", f"{len(rest) - MOST_POSSIBLE} more; --format json lists them")


def _because(finding: Finding) -> str:
    """`, because ARTIFACT PLACE says "QUOTE"`, of the first evidence, to be added to a sentence; empty without evidence."""
    first = next(iter(finding.evidence), None)
    if first is None:
        return ""
    at = f"{first.artifact} {first.place}".strip()
    quote = textwrap.shorten(first.quote, _QUOTED, placeholder=" ...")
    return f', because {at} says "{quote}"' if first.origin == "text" else f", because {quote or at}"


def _heading(opinion: Opinion) -> str:
    """One sentence: whose opinion it is and what was checked of it, or why there is none."""
    who = f"{opinion.model} ({opinion.server})"
    if opinion.failure:
        return f"No second opinion of {who}: {opinion.failure}"
    return f"Second opinion of {who}, asked for with --reader: its quotes, commands and versions were checked, its conclusions were not"


def _opinion(opinion: Opinion) -> Iterator[AnswerLine]:
    """What it said, the likeliest cause first."""
    for cause in opinion.causes:
        yield AnswerLine("cause", f"{cause.id}: {cause.words}")
        if cause.against:
            yield AnswerLine("against", f"evidence says otherwise: {cause.against}")
        yield from (AnswerLine("quote", f"{r.artifact} {r.place}: {r.quote}".replace(" :", ":")) for r in cause.evidence)
        if cause.misquoted:
            yield AnswerLine("quote", f"{cause.misquoted} more stand nowhere in the text and are left out")
        for step in cause.steps:
            yield AnswerLine("step", step.words or "[withheld: it tells to run what deletes files]")
            yield from map(_proposal, step.proposals)


def _proposal(one: Proposal) -> AnswerLine:
    label = PROOFS[one.proof]
    if one.proof == "corrected":
        return AnswerLine(label, f"{one.because}; in place of `{one.said}`:", one.commands)
    return AnswerLine(label, f"`{one.said}`: {one.because}" if one.proof == "word" else one.because, one.commands)
