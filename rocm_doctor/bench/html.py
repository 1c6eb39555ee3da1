"""The report of `bench` as one HTML page without scripts: for each figure its samples as dots, with the reference as a line."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rocm_doctor.bench.text import about, heading, summary, words
from rocm_doctor.figures.types import BenchReport, Cause, Device, Figure

WIDTH, HEIGHT = 320, 26
DOTS = 60
"""Samples drawn at most."""
_STYLE = """body{font:15px/1.4 system-ui,sans-serif;max-width:85em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}
td,th{padding:.2em .6em;text-align:left;border-bottom:1px solid #ddd}td.n,td:first-child{white-space:nowrap}td.n{text-align:right;font-variant-numeric:tabular-nums}
.slow{color:#b00;font-weight:600}.ok{color:#060}svg{display:block}pre{background:#f4f4f4;padding:.5em}"""


def page(report: BenchReport) -> str:
    """The whole page."""
    body = "".join(_gpu(report, gpu) for gpu in report.gpus) + "".join(map(_cause, report.causes))
    missing = "".join(f"<li>{escape(n.stage)}: {escape(n.status)} {escape(n.reason)}</li>" for n in report.not_measured)
    note = f"<h2>Not measured</h2><ul>{missing}</ul>" if missing else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rocm-doctor bench</title><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(summary(report))}</h1>{body}{note}"
        f"<p>rocm-doctor {escape(report.tool_version)}, matrix {escape(report.matrix_version)}</p></body></html>\n"
    )


def _gpu(report: BenchReport, gpu: Device) -> str:
    mine = [f for f in report.figures if f.gpu == gpu.index]
    rows = "".join(_row(f) for f in mine)
    head = "<tr><th>figure<th>value<th>samples, and the reference as a line<th>verdict<th>with</tr>"
    return f"<h2>{escape(heading(report, gpu))}</h2><table>{head}{rows}</table>"


def _row(figure: Figure) -> str:
    kind = {"slow": "slow", "as expected": "ok"}.get(figure.verdict, "")
    told = ": ".join(filter(None, (figure.verdict if figure.reference else "", escape(words(figure)))))
    titles = "&#10;".join(
        escape(f"{r.kind}: {r.value:g} {figure.unit} ({r.ratio:.0%}), {r.words}; {r.source}") for r in figure.references
    )
    return (
        f'<tr title="{titles}"><td>{escape(figure.name)}<td class="n">{figure.value:.4g} {escape(figure.unit)}<br>±{figure.spread:.1%}'
        f'<td>{plot(figure)}<td class="{kind}">{told}<td>{escape(about(figure))}</tr>'
    )


def plot(figure: Figure) -> str:
    """The samples from zero to a little above the largest of them and the reference."""
    most = 1.05 * max([*figure.samples, figure.value, figure.reference or 0.0])
    dots = "".join(_dots(figure, most))
    line = f'<line x1="{_x(figure.reference, most)}" x2="{_x(figure.reference, most)}" y1="2" y2="{HEIGHT - 2}" stroke="#888"/>'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img"><rect width="{_x(figure.value, most)}" y="9" height="8" fill="#cfe2f3"/>'
        f"{line if figure.reference else ''}{dots}</svg>"
    )


def _dots(figure: Figure, most: float) -> Iterator[str]:
    step = max(1, len(figure.samples) // DOTS)
    for number, value in enumerate(figure.samples[::step]):
        yield f'<circle cx="{_x(value, most)}" cy="{6 + number % 5 * 3}" r="1.6" fill="#1f5f9f"/>'


def _x(value: float | None, most: float) -> str:
    return f"{WIDTH * (value or 0.0) / most:.1f}" if most else "0"


def _cause(cause: Cause) -> str:
    read = "".join(f"<li>{escape(quote)}</li>" for quote in cause.read)
    typed = "".join(f"<pre>{escape(command.text)}</pre>" for command in cause.commands)
    gain = f"<p>Gain: {escape(cause.gain)}</p>" if cause.gain else ""
    return f"<h2>Why: {escape(cause.title)} <code>{escape(cause.row)}</code></h2><ul>{read}</ul>{gain}<p>{escape(cause.advice)}</p>{typed}"
