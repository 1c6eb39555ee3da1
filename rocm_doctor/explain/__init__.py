"""What a person types (a product, a package, a version, a diagnosis, a variable, an error line) and the page that answers it.

`index.py` has the names of the catalog, `lookup.py` finds what the words name; the other modules make the page of one kind of thing.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import shorten

from rocm_doctor.explain import gpus, judgements, libraries, releases
from rocm_doctor.explain.index import IndexEntry, Kind, NamedThing, fold, index
from rocm_doctor.explain.lookup import nearest_names, search
from rocm_doctor.matrix import Matrix
from rocm_doctor.reports.page import Page, Section

__all__ = ["IndexEntry", "NamedThing", "explain", "explain_entry", "index", "nearest_names", "search"]

_PAGES: dict[Kind, Callable[[NamedThing, Matrix], Page]] = {
    "gpu": gpus.gpu, "library": libraries.library, "torch": releases.torch, "rocm": releases.rocm, "python": releases.python,
    "driver": releases.driver, "system": releases.system, "diagnosis": judgements.diagnosis, "row": judgements.row,
    "variable": judgements.variable,
}  # fmt: skip
_MOST = 12
"""Candidates that a short page shows."""
_WIDTH = 86
"""Characters of a candidate, which is one line."""


def explain(text: str, matrix: Matrix) -> Page | None:
    """The page about what the text names; the candidates where it may be several things; None where nothing is known of it.

    A text that is not a name is judged as a line of a log.
    """
    things = search(text, matrix)
    if not things:
        return judgements.line(text, matrix, guess=True)
    if not things[0].sure and "-" in fold(text) and (page := judgements.line(text, matrix)):
        return page
    if len(things) != 1:
        return _candidates(text, f"may be one of {len(things)}", things)
    if things[0].entry.kind == "row" and not things[0].sure:
        return _candidates(text, "may be a case of", things)
    return explain_entry(things[0], matrix)


def explain_entry(thing: NamedThing, matrix: Matrix) -> Page:
    """The page about one entry of the index."""
    return _PAGES[thing.entry.kind](thing, matrix)


def _candidates(text: str, how: str, things: list[NamedThing]) -> Page:
    lines = [shorten(f"rocm-doctor explain {thing.query}: {thing.entry.words}", _WIDTH, placeholder=" ...") for thing in things]
    return Page(f"`{text}` {how}", (Section("", lines, _MOST),))
