"""The pages of what the matrix judges by: a diagnosis, a row, a variable, a line of a log."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.explain.index import NamedThing
from rocm_doctor.explain.parts import MANY, introduce_remedy, list_faults, section
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Diagnosis, Row
from rocm_doctor.model import Finding
from rocm_doctor.reports.page import Page

_SLOT = regex(r"\{(\w+)\}")
_LIKELY = 0.5
"""Probability from which the words of a line alone name a diagnosis."""


def diagnosis(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a diagnosis: its criterion, cause and remedy, the remedies under conditions, and the rows of the matrix."""
    entry = matrix.diagnoses[thing.entry.of]
    cures = [cure for cure in matrix.cures if entry.id in cure.of and cure.when]
    conditions = [", ".join(f"{name}: {asked}" for name, asked in cure.when.items()) for cure in cures]
    words = [introduce_remedy(cure.grade) + _SLOT.sub(lambda slot: matrix.slots[slot[1]].words, cure.do) for cure in cures]
    return Page(
        f"{entry.id}: {entry.title}",
        (
            section("when", entry.criterion),
            section("cause", entry.cause),
            section("fix", entry.advice, *entry.commands),
            section("check", *entry.verify),
            section("if", *map(": ".join, zip(conditions, words)), short=MANY),
            list_faults(row for row in matrix.rows if row.diagnosis == entry.id),
            section("source", *entry.sources),
        ),
    )


def row(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a row: its conditions, cause, remedy and sources."""
    row = matrix.by_key[thing.entry.of]
    grades = [
        row.grade,
        *(f"({of}: {grade})" for of, grade in (("range", row.range_grade), ("remedy", row.remedy_grade)) if grade),
    ]
    return Page(
        f"{row.key}: {row.title}",
        (
            section("", f"{row.status}, {' '.join(grades)}, layer {row.layer}, checked {row.checked}; diagnosis {row.diagnosis}"),
            section("when", *(f"{name}: {condition}" for name, condition in row.when.items()), short=MANY),
            section("cause", row.cause),
            section("fix", _fix(row, matrix), *row.commands),
            section("check", *row.verify),
            section("issue", *(f"{issue.id}: {issue.state} on {issue.seen}" for issue in row.issues)),
            section("also", ", ".join(row.aliases)),
            section("over", ", ".join(row.supersedes)),
            section("source", *row.sources),
            section("read", f"{row.verified.outcome} by a {row.verified.by} on {row.verified.date}" if row.verified else ""),
        ),
    )


def _fix(row: Row, matrix: Matrix) -> str:
    """The advice of a row, or of its diagnosis where the row has none; a remedy that rests on one report is called so."""
    if row.advice:
        return introduce_remedy(row.remedy_grade or row.grade) + row.advice
    return "" if row.commands else matrix.diagnoses[row.diagnosis].advice


def variable(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a variable: what reads it, what it does, what it costs."""
    entry = matrix.env[thing.entry.of]
    conditions = ((row, row.when.get(f"env.{entry.name}", "absent")) for row in matrix.rows)
    return Page(
        f"{entry.name}: {'nothing reads it' if entry.exists == 'no' else f'read by {entry.reader}, {entry.platform}'}",
        (
            section("effect", entry.effect),
            section("values", entry.values, entry.default and f"default: {entry.default}"),
            section("harm", entry.harm),
            section("also", ", ".join(entry.also)),
            list_faults(row for row, condition in conditions if condition != "absent" and condition[0] != "!"),
            section("source", *entry.sources),
        ),
    )


def line(text: str, matrix: Matrix, *, guess: bool = False) -> Page | None:
    """The first finding of a failing line, and what else it may be; None where `check` recognises nothing in it.

    `guess`: with no likely finding, the first that `check` calls possible, marked as a guess.
    """
    from rocm_doctor.pipeline import judge
    from rocm_doctor.redaction.shared import redact_report
    from rocm_doctor.sources.paste import cut

    report = redact_report(judge(cut(text, "the line"), matrix, source="the line", kind="capture"))
    findings = [f for f in report.findings if f.id in matrix.diagnoses]
    guess = guess and not any(f.leads for f in findings) and all(g.probability < _LIKELY for g in report.guesses)
    read = [matrix.diagnoses[g.id] for g in report.guesses if guess or g.probability >= _LIKELY]
    candidates: list[Finding | Diagnosis] = [*(f for f in findings if f.leads), *read, *(findings if guess else [])]
    best = next(iter(candidates), None)
    if best is None:
        return None
    by = introduce_remedy(best.cure_grade or best.grade) if isinstance(best, Finding) else ""
    sure = "A line alone can mean several things." if findings else "This is a guess from the words of the line."
    others = dict.fromkeys(name for name in (*(f.id for f in findings), *(d.id for d in read)) if name != best.id)
    return Page(
        f"{best.id}: {best.title}",
        (
            section("cause", best.cause),
            section("fix", best.advice and by + best.advice, *best.commands),
            section("check", *best.verify),
            section("or", *(f"{other}: {matrix.diagnoses[other].title}" for other in list(others)[:2])),
            section("sure", f"{sure} The whole log tells more: rocm-doctor check FILE"),
            section("source", *(best.sources or matrix.diagnoses[best.id].sources)[:2]),
            section("more", f"rocm-doctor explain {best.id}"),
        ),
    )
