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
_MEASURED = {
    "speed-prefer-hipblaslt": "speed.blas-gain",
    "speed-prefer-rocblas": "speed.blas-gain",
    "speed-tunableop": "speed.tunable-gain",
    "speed-attention-math": "speed.attention-gain",
    "speed-attention-path": "speed.attention-gain",
}
"""Row -> the fact that is its gain."""
_INVERSE = {
    "speed-link": "speed.link-share",
    "speed-power-cap": "speed.cap-share",
    "speed-clock-stuck": "speed.clock-share",
    "speed-bf16-emulated": "speed.bf16-gain",
    "speed-loader": "speed.loader-share",
}
"""Row -> the fact of which the gain is the inverse, at most."""


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
            gain=_gain(one.row, facts),
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


def _gain(row: str, facts: Mapping[str, object]) -> str:
    """The expected gain in words: measured here, or at most by a share that was read."""
    measured, share = facts.get(_MEASURED.get(row, "")), facts.get(_INVERSE.get(row, ""))
    if isinstance(measured, (int, float)) and measured > 1:
        return f"{measured:.3g} times, measured here"
    if isinstance(share, (int, float)) and 0 < share < 1:
        return f"up to {1 / share:.3g} times, from what was read"
    return ""
