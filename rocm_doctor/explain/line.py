"""The page of a pasted line: what `check` says of it, and of the diagnosis behind that."""

from __future__ import annotations

from rocm_doctor.explain.parts import introduce_remedy, section
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Diagnosis, Finding
from rocm_doctor.reports.page import Page

_LIKELY = 0.5
"""Probability from which the words of a line alone name a diagnosis."""


def page(text: str, matrix: Matrix, *, guess: bool = False) -> Page | None:
    """The first finding of a failing line, and what else it may be; None where `check` recognises nothing in it.

    `guess`: with no likely finding, the first that `check` calls possible, marked as a guess.
    """
    from rocm_doctor.pipeline import judge
    from rocm_doctor.redaction.shared import redact_report
    from rocm_doctor.sources.paste import cut

    report = redact_report(judge(cut(text, "the line"), matrix, source="the line", kind="capture"))
    found = [one for one in report.findings if one.id in matrix.diagnoses]
    read = [matrix.diagnoses[one.id] for one in report.guesses if guess or one.probability >= _LIKELY]
    known: list[Finding | Diagnosis] = [*(one for one in found if one.leads), *read, *(found if guess else [])]
    best = next(iter(known), None)
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
            section("or", *(f"{one}: {matrix.diagnoses[one].title}" for one in list(others)[:2])),
            section("sure", f"{sure} The whole log tells more: rocm-doctor check FILE"),
            section("source", *(best.sources or matrix.diagnoses[best.id].sources)[:2]),
            section("more", f"rocm-doctor explain {best.id}"),
        ),
    )
