"""The comment on an issue: the likely cause with its evidence, similar confirmed reports, or what to run where a fact is missing.

What the reporter wrote appears in code spans only; links lead to pages of this project and to threads that our data names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocm_doctor._version import PROJECT, SOURCE, page_of
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.integrations.triage.event import MARK, Comment
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Finding, Report
from rocm_doctor.reports.markup import block, code, escape, prose
from rocm_doctor.reports.places import where

CERTAIN = 0.8
"""Probability of `none` from which nothing is to be said."""
WORTH = 0.1
"""Probability below which a guess is left out."""
_LOOK = Command(f"uvx --from {SOURCE} rocm-doctor check --no-smoke --format markdown", effect="reads")
"""What a reporter runs: it needs uv alone, and leaves nothing behind."""
_REQUEST = (
    "Run this where it fails, with the environment of the run active, and paste what it prints with the whole log of the run. It reads the "
    "machine, installs nothing there, and takes names and addresses out:"
)
_QUOTES = 3
_WIDTH = 160
"""Characters of one quote or title: a value in it may be as long as a report."""
_SENTENCES = 1_500
"""Characters of a cause or an advice."""
_THREAD = regex(r"https://github\.com/([\w.-]+/[\w.-]+)/(issues|pull|discussions)/(\d+)")


class TriageComment(NamedTuple):
    """The comment (empty: nothing is worth one), and a line for the log."""

    text: str
    why: str


def write_comment(report: Report, matrix: Matrix, own: str, *, first: bool = True) -> TriageComment:
    """The comment on a report that was judged from an issue. `own`: the address of the issue, which is not similar to itself; `first`: no
    comment of ours is there, so that a GPU alone is enough to ask for the machine."""
    roots = [f for f in report.findings if f.severity != "note" and f.leads]
    root = roots[0] if roots else None
    fine = next((one.probability for one in report.differential if not one.title), 0.0)
    bare = first and bool(report.snapshot.gpus) and not report.snapshot.get("torch.version").known and not report.differential
    lacks_facts = bool(report.questions) or bare
    nothing = (not report.differential and not bare) or fine >= CERTAIN
    if report.verdict == "ready" or (root is None and (nothing or not lacks_facts)):
        return TriageComment("", "no known cause recognised in the report, and no fact to ask for")
    lines = [MARK, *(_cause(root, roots[1:], matrix) if root else _lead_without_cause(report, matrix))]
    lines += _similar(report, own)
    if lacks_facts:
        lines += ["", f"**To find out.** {_REQUEST}", *block([_LOOK])]
    lines += ["", _signature(report)]
    return TriageComment("\n".join(lines) + "\n", root.id if root else "asks for the machine")


def take_back(ours: Comment | None) -> str:
    """What replaces our earlier comment when nothing is left to say; empty if there is none."""
    return (
        f"{MARK}\nWith what the reporter added, no known cause is recognised. The earlier comment no longer holds.\n"
        if ours
        else ""
    )


def _cause(root: Finding, others: Sequence[Finding], matrix: Matrix) -> Iterator[str]:
    yield f"### {'Likely' if root.confidence != 'low' else 'Possible'} cause: {prose(_cut(root.title + where(root)))}"
    yield from ("", prose(_cut(root.cause, _SENTENCES)))
    quotes = dict.fromkeys(code(_cut(r.quote)) for r in root.evidence if r.quote and r.origin == "text")
    if quotes:
        yield from ("", f"Read in the report: {', '.join(list(quotes)[:_QUOTES])}")
    yield from ("", prose(_cut(root.advice, _SENTENCES))) if root.advice else ()
    yield from block(root.commands)
    if root.verify:
        yield "\nThen check:"
        yield from block(root.verify)
    yield from ("", f"Sources and all that is known: {_page(root.id, matrix)}")
    named = {other.id: other.title for other in others if other.id != root.id}
    if named:
        yield from ("", f"If it is not that: {'; '.join(_other(*one, matrix) for one in list(named.items())[:2])}.")


def _lead_without_cause(report: Report, matrix: Matrix) -> Iterator[str]:
    """The words above the questions where no diagnosis is probable enough."""
    yield "### The report lacks what would tell the cause"
    others = [one for one in report.differential if one.title and one.probability >= WORTH][:3]
    if others:
        yield from ("", f"The words read like this: {'; '.join(_other(other.id, other.title, matrix) for other in others)}.")


def _other(id_: str, title: str, matrix: Matrix) -> str:
    return f"{prose(_cut(title))} ({_page(id_, matrix)})"


def _page(id_: str, matrix: Matrix) -> str:
    """The page of a diagnosis; the bare name of one that our data does not have."""
    return f"[`{id_}`]({page_of(id_)})" if id_ in matrix.diagnoses else code(id_)


def _similar(report: Report, own: str) -> Iterator[str]:
    """Confirmed reports. Their addresses go through GitHub's redirect, which leaves no mention in the other thread."""
    found = [(one, thread) for one in report.solved if one.thread != own and (thread := _THREAD.fullmatch(one.thread))]
    if found:
        yield from ("", "Reports that read like this one, with a confirmed cause:", "")
    for one, thread in found:
        name, kind, number = thread.groups()
        link = f"[{name} {number}](https://redirect.github.com/{name}/{kind}/{number})"
        yield f"- {link}: {prose(one.cause)} Fix: {prose(one.fix)}"


def _cut(text: str, most: int = _WIDTH) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]} …"


def _signature(report: Report) -> str:
    return (
        f"<sub>Written by [rocm-doctor]({PROJECT}) {escape(report.tool_version)} (matrix {escape(report.matrix_version)}) from the text "
        f"of this issue, without running anything. It can be wrong. An edit or an answer by the reporter updates it.</sub>"
    )
