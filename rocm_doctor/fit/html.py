"""The answer of `fit` as HTML: a piece for notebooks, and a page."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.fit import text
from rocm_doctor.fit.answer import Answer
from rocm_doctor.fit.text import configuration, gib, heading, kernels, on_this_gpu, outlook, room, verdict, ways
from rocm_doctor.redaction.shared import redact_plain
from rocm_doctor.reports.html import block, document, embed, escape, header, redacted

_KIND = {"fits": "ready", "does not fit": "problems"}


def shown(answer: Answer, form: str) -> str:
    """The redacted text, or HTML for a notebook."""
    return redacted(embed("\n".join(_body(answer)))) if form == "html" else redact_plain(text.page(answer, None))


def page(answer: Answer) -> str:
    """The same as a page of its own."""
    return document(f"rocm-doctor fit: {verdict(answer)}", "\n".join(_body(answer)))


def _body(answer: Answer) -> Iterator[str]:
    kind = _KIND.get(answer.verdict, "undetermined")
    yield header(kind, "Memory", verdict(answer), " ".join(heading(answer.run.source, answer.run.job, answer.card)))
    peak, bound = answer.estimate.peak_allocated_bytes, answer.estimate.error_bound
    yield f"<section><h2>Peak {escape(gib(peak))} ± {bound.allocated:.0%}</h2><table><tbody>"
    for name, size in sorted(answer.estimate.breakdown.items(), key=lambda one: -one[1]):
        if size > peak / 1000:
            bar = f"<meter min='0' max='{peak}' value='{size}'>{size / peak:.0%}</meter>"
            yield f"<tr><th scope='row'>{escape(name)}</th><td>{escape(gib(size))}</td><td>{bar}</td></tr>"
    yield "</tbody></table></section>"
    yield block([*configuration(answer), *on_this_gpu(answer)])
    yield block([*kernels(answer), *room(answer.card), *answer.notes])
    yield block([*ways(answer), *outlook(answer)])
