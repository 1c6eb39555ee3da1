"""What `lint` found, as text for a terminal, and as a report for the other formats."""

from __future__ import annotations

import hashlib
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator

import click
import msgspec

from rocm_doctor._version import __version__
from rocm_doctor.lint.edits import diff_lines
from rocm_doctor.lint.facts import make_snapshot
from rocm_doctor.lint.judge import Result
from rocm_doctor.lint.model import FAILS, PASSES, Problem, Reason
from rocm_doctor.lint.readers import find_frameworks
from rocm_doctor.lint.tree import Tree
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Report, Snapshot, Verdict
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.json import SCHEMA_VERSION
from rocm_doctor.reports.neutral import printable

_VERDICTS: dict[str, Verdict] = {FAILS: "problems", PASSES: "ready"}
Shown = Callable[[str], str]
_MARKS = {"error": ("✗", "red"), "warning": ("!", "yellow"), "note": ("·", "cyan")}
_WHOLE_FILES = (Reason.SYNTAX, Reason.SIZE, Reason.DENIED, Reason.TIME)
"""Why nothing of a file was read: shown without -v, too."""
_SHOWN = 40
"""Rows of the table that are shown without -v."""
_SHOWN_FILES = 8


def report(found: Result, matrix: Matrix, name: str, shown: Shown = str) -> Report:
    """The report of a repository. `shown`: a path of the repository, as it is named from the current folder."""
    findings = tuple(_finding(one, found.tree, matrix, shown) for one in found.problems)
    facts = make_snapshot(None, None, found.targets[0], matrix) if found.targets else Snapshot()
    return Report(
        schema_version=SCHEMA_VERSION, tool_version=__version__, matrix_version=matrix.version,
        verdict=_VERDICTS.get(found.verdict, "undetermined"), summary=summary(found), findings=findings, undecided=(), snapshot=facts,
        source=f"repository {name}", kind="repository",
    )  # fmt: skip


def _finding(one: Problem, tree: Tree, matrix: Matrix, shown: Shown) -> Finding:
    known = matrix.diagnoses[one.id]
    first = one.places[0]
    decisive = "\n".join((one.id, one.row, first.file, first.quote))
    places = [msgspec.structs.replace(p, file=shown(p.file)).reading() for p in one.places]
    asked = [Reading("command line", "--gpu", ", ".join(one.gpus), "target")] if one.gpus else []
    diff = diff_lines(tree, one.edit) if one.edit else []
    advice = f"In {shown(first.file)}: {'; '.join(diff)}" if diff else " ".join(one.hints)
    return Finding(
        id=one.id, title=one.title, severity=one.severity, confidence="high" if one.is_literal else "medium", cause=one.cause, row=one.row,
        subject=shown(one.environment.name) + (f" for {', '.join(one.gpus)}" if one.gpus else ""), subject_kind="environment",
        grade=one.grade, evidence=(*places, *asked), advice=advice, sources=one.sources or known.sources,
        fingerprint=hashlib.sha256(decisive.encode()).hexdigest()[:16],
    )  # fmt: skip


def summary(found: Result) -> str:
    """The verdict in one line, with what was left out and not read."""
    counts = Counter(p.severity for p in found.problems)
    parts = [_count(counts[level], level) for level in ("error", "warning", "note") if counts[level]]
    targets = ", ".join(t.gpu for t in found.targets)
    head = f"{found.verdict}{f' for {targets}' if targets else ''}: {', '.join(parts) or 'no problem found'}"
    more = []
    if found.verdict not in (FAILS, PASSES):
        more.append(_explain_open(found))
    if found.accepted_count:
        more.append(f"{found.accepted_count} accepted")
    if found.others:
        more.append(f"{_count(found.others, 'environment')} for other hardware, or of tests, not judged")
    if found.unread:
        more.append(f"{_count(len(found.unread), 'place')} not read")
    return "; ".join([head, *more])


def _explain_open(found: Result) -> str:
    """Why nothing passes, where nothing fails."""
    if found.tree.is_late:
        return "the time for reading ran out"
    if found.decisive_unread:
        first = found.decisive_unread[0].place
        return f"{first.file}:{first.line} was not read and may change what runs"
    words = "no file here leads to code for the GPU as it is written"
    imports = find_frameworks(found.tree)
    if imports and "torch" not in imports:
        plan = f"rocm-doctor plan --gpu {found.targets[0].gpu if found.targets else 'GPU'} --with {','.join(imports)}"
        words += f"; {next(iter(imports.values())).file} imports {' and '.join(imports)}: `{plan}`"
    return words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def text(found: Result, name: str, look: RenderOptions, shown: Shown = str) -> str:
    """The result for a terminal."""
    lines = [_verdict(found, look)] if look.quiet else list(_lines(found, name, look, shown))
    return printable("\n".join(lines) + "\n")


def _lines(found: Result, name: str, look: RenderOptions, shown: Shown) -> Iterator[str]:
    yield click.style(f"repository {name}", bold=True)
    yield from _table(found, look, shown)
    for one in (p for p in found.problems if p.severity != "note" or look.verbose):
        yield from _problem(one, found.tree, look, shown)
    notes = [p for p in found.problems if p.severity == "note" and not look.verbose]
    if notes:
        yield ""
        yield from (f"· {shown(p.places[0].file)}:{p.places[0].line}: {p.title}  [{p.row or p.id}]" for p in notes)
    yield from _unread(found, look, shown)
    yield ""
    yield _verdict(found, look)


def _table(found: Result, look: RenderOptions, shown: Shown) -> Iterator[str]:
    """Each environment for AMD GPUs, the GPUs that it names, and what was found for each target."""
    gpus = list(dict.fromkeys(gpu for row in found.rows for gpu in row.cells))
    rows = found.rows if look.verbose else found.rows[:_SHOWN]
    if not rows:
        return
    body = [(shown(r.environment.name), ", ".join(r.claims) or "any", *(r.cells.get(g, "") for g in gpus)) for r in rows]
    table = [("file", "for", *gpus), *body]
    widths = [min(60, max(len(line[n]) for line in table)) for n in range(len(table[0]))]
    yield ""
    for number, line in enumerate(table):
        cells = "  ".join(cell[-60:].ljust(width) for cell, width in zip(line, widths)).rstrip()
        yield click.style(cells, dim=True) if number == 0 else cells
    if len(found.rows) > len(rows):
        yield f"and {len(found.rows) - len(rows)} more (-v shows them)"


def _problem(one: Problem, tree: Tree, look: RenderOptions, shown: Shown) -> Iterator[str]:
    mark, colour = _MARKS[one.severity]
    first = one.places[0]
    targets = f" · {', '.join(one.gpus)}" if one.gpus else ""
    yield ""
    yield from _wrap(f"{mark} {shown(first.file)}:{first.line}: {one.title}", look, "", "  ", colour)
    yield click.style(f"  {one.severity} · {one.row or one.id}{targets}{'' if one.is_literal else ' · not certain'}", dim=True)
    more = one.places[1 : None if look.verbose else 4]
    yield from _wrap(first.quote, look, "  read   ", "         ")
    yield from (line for p in more for line in _wrap(f"{shown(p.file)}:{p.line}: {p.quote}", look, "         ", "         "))
    yield from _wrap(one.cause, look, "  why    ", "         ")
    if one.edit:
        yield f"  fix    {shown(one.edit.place.file)} (--fix writes it)"
        yield from (
            click.style(f"         {line}", fg="green" if line[0] == "+" else "red") for line in diff_lines(tree, one.edit)
        )
    for hint in one.hints:
        yield from _wrap(hint, look, "  or     " if one.edit else "  hint   ", "         ")
    yield from _wrap("; ".join(one.sources[:2]), look, "  source ", "         ")


def _unread(found: Result, look: RenderOptions, shown: Shown) -> Iterator[str]:
    """What was met and not read: counted by its reason, listed with -v."""
    if not found.unread:
        return
    yield ""
    counts = Counter(u.reason for u in found.unread)
    reasons = "; ".join(f"{reason.value} {counts[reason]}" for reason in Reason if counts[reason])
    yield from _wrap(
        f"not read: {_count(len(found.unread), 'place')} ({reasons}){'' if look.verbose else '; -v lists them'}", look, "", "  "
    )
    whole = [u for u in found.unread if u.reason in _WHOLE_FILES][:_SHOWN_FILES]
    for one in found.unread if look.verbose else whole:
        yield from _wrap(
            f"{shown(one.place.file)}:{one.place.line}: {one.reason.value}{one.place.quote and f': {one.place.quote}'}",
            look,
            "  ",
            "      ",
        )


def _verdict(found: Result, look: RenderOptions) -> str:
    mark, colour = ("✗", "red") if found.verdict == FAILS else ("✓", "green") if found.verdict == PASSES else ("?", "yellow")
    return click.style(f"{mark} {summary(found)}", fg=colour)


def _wrap(words: str, look: RenderOptions, first: str, rest: str, colour: str | None = None) -> Iterator[str]:
    if not words.strip():
        return
    lines = textwrap.wrap(
        " ".join(words.split()), look.width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    yield from (click.style(line, fg=colour, bold=True) if colour else line for line in lines)
