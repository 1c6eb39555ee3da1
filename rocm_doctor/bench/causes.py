"""Which finding explains which slow figure: a row names the figures it explains in its own conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from rocm_doctor import pipeline
from rocm_doctor.facts.speed import GROUPS
from rocm_doctor.figures.types import BenchReport, Cause, Figure
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Finding, Row

FAMILY = "speed."
ARTIFACT = "bench/1.json"


def explain_figures(report: BenchReport, matrix: Matrix, beside: Sequence[Artifact] = ()) -> BenchReport:
    """The report with its causes, as `check` finds them; `beside` are the machine's own artifacts."""
    text = msgspec.json.encode(report).decode()
    judged = pipeline.judge([Artifact(ARTIFACT, "smoke", text), *beside], matrix, source="this benchmark", kind="smoke")
    causes = tuple(_causes(report, judged.findings, matrix))
    by_figure = {name: cause.row for cause in reversed(causes) for name in cause.figures}
    figures = tuple(
        msgspec.structs.replace(f, cause=by_figure.get(f.name, "")) if f.verdict == "slow" else f for f in report.figures
    )
    return msgspec.structs.replace(report, causes=causes, figures=figures)


def _causes(report: BenchReport, findings: Iterable[Finding], matrix: Matrix) -> Iterator[Cause]:
    facts = {name: value for gpu in report.gpus for name, value in gpu.facts.items()}
    for one in findings:
        row = matrix.row(one.row) if one.row else None
        if row is None or not one.id.startswith(FAMILY):
            continue
        yield Cause(
            id=one.id,
            row=one.row,
            title=one.title,
            figures=tuple(dict.fromkeys(_slow_figures(row, report.figures))),
            read=tuple(dict.fromkeys(r.quote for r in one.evidence)),
            advice=one.advice,
            commands=one.commands,
            gain=_gain(row, facts),
        )


def _slow_figures(row: Row, figures: Iterable[Figure]) -> Iterator[str]:
    """Names of slow figures that the row's conditions are about."""
    about = [name for name, condition in row.when.items() if "slow" in condition.split("|")]
    for figure in figures:
        for name in about:
            fits = _is_in_group(name, figure.name) if name in GROUPS else name == FAMILY + figure.name
            if fits and figure.verdict == "slow":
                yield figure.name


def _is_in_group(group: str, figure: str) -> bool:
    """Whether a cause of the group slows the figure: what slows matrix products slows the training shape, too."""
    return bool(GROUPS[group].match(figure)) or (group == "speed.matmul" and figure.startswith("matmul-"))


def _gain(row: Row, facts: Mapping[str, object]) -> str:
    """The expected gain in words, by the facts that the row asks for: a gain that was measured here, or at most the inverse of a share."""
    for name, condition in row.when.items():
        value = facts.get(name)
        if not isinstance(value, (int, float)):
            continue
        if name.endswith("-gain") and condition.startswith(">=") and value > 1:
            return f"{value:.3g} times, measured here"
        if condition.startswith("<") and 0 < value < 1:
            return f"up to {1 / value:.3g} times, from what was read"
    return ""
