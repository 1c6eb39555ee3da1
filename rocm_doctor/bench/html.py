"""The report of `bench` as one HTML page without scripts: for each figure its samples as dots, with the reference as a line."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bench.text import describe, heading, summary, words
from rocm_doctor.figures.types import BenchReport, Cause, Figure
from rocm_doctor.reports.html import command, document, escape, header, items, prose, table

WIDTH, HEIGHT = 320, 26
DOTS = 60
"""Samples drawn at most."""
_STYLE = """td:nth-child(2) { white-space: nowrap; font-variant-numeric: tabular-nums; } svg { display: block; max-width: 100%; }
svg rect { fill: var(--note-bg); } svg line { stroke: var(--dim); } svg circle { fill: var(--link); }
.slow { color: var(--error); font-weight: 600; } .ok { color: var(--ready); }
"""
_COLUMNS = ("Figure", "Value", "Samples, and the reference as a line", "Verdict", "With")


def page(report: BenchReport) -> str:
    """The whole page."""
    slow = any(figure.verdict == "slow" for figure in report.figures)
    missing = items("Not measured", (escape(f"{n.stage}: {n.status} {n.reason}") for n in report.not_measured))
    versions = f"rocm-doctor {report.tool_version}, matrix {report.matrix_version}"
    tables = (
        table(heading(report, gpu), _COLUMNS, (_row(f) for f in report.figures if f.gpu == gpu.index)) for gpu in report.gpus
    )
    body = [
        header("problems" if slow else "ready", "Benchmark", summary(report), versions),
        *tables,
        *map(_cause, report.causes),
        missing,
    ]
    return document(f"rocm-doctor bench: {summary(report)}", "\n".join(body), _STYLE)


def _row(figure: Figure) -> list[str]:
    kind = {"slow": "slow", "as expected": "ok"}.get(figure.verdict, "")
    told = ": ".join(filter(None, (figure.verdict if figure.reference else "", escape(words(figure)))))
    titles = "&#10;".join(
        escape(f"{r.kind}: {r.value:g} {figure.unit} ({r.ratio:.0%}), {r.words}; {r.source}") for r in figure.references
    )
    value = f"{figure.value:.4g} {escape(figure.unit)}<br>±{figure.spread:.1%}"
    verdict = f'<span class="{kind}" title="{titles}">{told}</span>'
    return [escape(figure.name), value, plot(figure), verdict, escape(describe(figure))]


def plot(figure: Figure) -> str:
    """The samples from zero to a little above the largest of them and the reference."""
    most = 1.05 * max([*figure.samples, figure.value, figure.reference or 0.0])
    dots = "".join(_dots(figure, most))
    line = f'<line x1="{_x(figure.reference, most)}" x2="{_x(figure.reference, most)}" y1="2" y2="{HEIGHT - 2}"/>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="samples"><rect width="{_x(figure.value, most)}" y="9" height="8"/>'
        f"{line if figure.reference else ''}{dots}</svg>"
    )


def _dots(figure: Figure, most: float) -> Iterator[str]:
    step = max(1, len(figure.samples) // DOTS)
    for number, value in enumerate(figure.samples[::step]):
        yield f'<circle cx="{_x(value, most)}" cy="{6 + number % 5 * 3}" r="1.6"/>'


def _x(value: float | None, most: float) -> str:
    return f"{WIDTH * (value or 0.0) / most:.1f}" if most else "0"


def _cause(cause: Cause) -> str:
    read = "".join(f"<li>{escape(quote)}</li>" for quote in cause.read)
    gain = f"<p>Gain: {escape(cause.gain)}</p>" if cause.gain else ""
    title = f"<h2>Why: {escape(cause.title)} <code>{escape(cause.row)}</code></h2>"
    return f"<section>{title}<ul>{read}</ul>{gain}<p>{prose(cause.advice)}</p>{''.join(map(command, cause.commands))}</section>"
