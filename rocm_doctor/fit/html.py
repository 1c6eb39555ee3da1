"""The answer of `fit` as HTML: a piece for notebooks, and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocm_doctor.fit.answer import Answer
from rocm_doctor.fit.text import configuration, gib, heading, kernels, on_this_gpu, outlook, room, verdict, ways
from rocm_doctor.reports.html import document, embedded, escape

_KIND = {"fits": "ready", "does not fit": "problems"}


def part(answer: Answer) -> str:
    """The verdict, the parts of the peak as bars, and what else would fit. For a notebook."""
    return embedded("\n".join(_body(answer)))


def page(answer: Answer) -> str:
    """The same as a page of its own."""
    return document(f"rocm-doctor fit: {verdict(answer)}", "\n".join(_body(answer)))


def _body(answer: Answer) -> Iterator[str]:
    kind = _KIND.get(answer.verdict, "undetermined")
    yield f'<header class="{kind}"><p class="mark">Memory</p><h1>{escape(verdict(answer))}</h1>'
    yield f"<p>{escape(' '.join(heading(answer.run.source, answer.run.job, answer.card)))}</p></header>"
    peak, bound = answer.estimate.peak_allocated_bytes, answer.estimate.error_bound
    yield f"<section><h2>Peak {escape(gib(peak))} ± {bound.allocated:.0%}</h2><table><tbody>"
    for name, size in sorted(answer.estimate.breakdown.items(), key=lambda one: -one[1]):
        if size > peak / 1000:
            bar = f"<meter min='0' max='{peak}' value='{size}'>{size / peak:.0%}</meter>"
            yield f"<tr><th scope='row'>{escape(name)}</th><td>{escape(gib(size))}</td><td>{bar}</td></tr>"
    yield "</tbody></table></section>"
    yield from _lines([*configuration(answer), *on_this_gpu(answer)])
    yield from _lines([*kernels(answer), *room(answer.card), *answer.notes])
    yield from _lines([*ways(answer), *outlook(answer)])


def _lines(lines: Iterable[str]) -> Iterator[str]:
    text = "\n".join(lines)
    if text:
        yield f"<pre>{escape(text)}</pre>"
