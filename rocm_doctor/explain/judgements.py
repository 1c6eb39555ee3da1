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


def diagnosis(found: NamedThing, matrix: Matrix) -> Page:
    """The page of a diagnosis: its criterion, cause and remedy, the remedies under conditions, and the rows of the matrix."""
    one = matrix.diagnoses[found.entry.of]
    cures = [cure for cure in matrix.cures if one.id in cure.of and cure.when]
    conditions = [", ".join(f"{name}: {asked}" for name, asked in cure.when.items()) for cure in cures]
    words = [introduce_remedy(cure.grade) + _SLOT.sub(lambda slot: matrix.slots[slot[1]].words, cure.do) for cure in cures]
    return Page(
        f"{one.id}: {one.title}",
        (
            section("when", one.criterion),
            section("cause", one.cause),
            section("fix", one.advice, *one.commands),
            section("check", *one.verify),
            section("if", *map(": ".join, zip(conditions, words)), short=MANY),
            list_faults(row for row in matrix.rows if row.diagnosis == one.id),
            section("source", *one.sources),
        ),
    )


def row(found: NamedThing, matrix: Matrix) -> Page:
    """The page of a row: its conditions, cause, remedy and sources."""
    one = matrix.by_key[found.entry.of]
    grades = [
        one.grade,
        *(f"({of}: {grade})" for of, grade in (("range", one.range_grade), ("remedy", one.remedy_grade)) if grade),
    ]
    return Page(
        f"{one.key}: {one.title}",
        (
            section("", f"{one.status}, {' '.join(grades)}, layer {one.layer}, checked {one.checked}; diagnosis {one.diagnosis}"),
            section("when", *(f"{name}: {condition}" for name, condition in one.when.items()), short=MANY),
            section("cause", one.cause),
            section("fix", _fix(one, matrix), *one.commands),
            section("check", *one.verify),
            section("issue", *(f"{issue.id}: {issue.state} on {issue.seen}" for issue in one.issues)),
            section("also", ", ".join(one.aliases)),
            section("over", ", ".join(one.supersedes)),
            section("source", *one.sources),
            section("read", f"{one.verified.outcome} by a {one.verified.by} on {one.verified.date}" if one.verified else ""),
        ),
    )


def _fix(row: Row, matrix: Matrix) -> str:
    """The advice of a row, or of its diagnosis where the row has none; a remedy that rests on one report is called so."""
    if row.advice:
        return introduce_remedy(row.remedy_grade or row.grade) + row.advice
    return "" if row.commands else matrix.diagnoses[row.diagnosis].advice


def variable(found: NamedThing, matrix: Matrix) -> Page:
    """The page of a variable: what reads it, what it does, what it costs."""
    one = matrix.env[found.entry.of]
    conditions = ((row, row.when.get(f"env.{one.name}", "absent")) for row in matrix.rows)
    return Page(
        f"{one.name}: {'nothing reads it' if one.exists == 'no' else f'read by {one.reader}, {one.platform}'}",
        (
            section("effect", one.effect),
            section("values", one.values, one.default and f"default: {one.default}"),
            section("harm", one.harm),
            section("also", ", ".join(one.also)),
            list_faults(row for row, condition in conditions if condition != "absent" and condition[0] != "!"),
            section("source", *one.sources),
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
    found = [finding for finding in report.findings if finding.id in matrix.diagnoses]
    read = [matrix.diagnoses[one.id] for one in report.guesses if guess or one.probability >= _LIKELY]
    candidates: list[Finding | Diagnosis] = [*(one for one in found if one.leads), *read, *(found if guess else [])]
    best = next(iter(candidates), None)
    if best is None:
        return None
    by = introduce_remedy(best.cure_grade or best.grade) if isinstance(best, Finding) else ""
    sure = "A line alone can mean several things." if found else "This is a guess from the words of the line."
    others = dict.fromkeys(name for name in (*(one.id for one in found), *(one.id for one in read)) if name != best.id)
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
