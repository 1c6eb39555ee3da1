"""Renderers: each is a module with a function `render(report, look) -> str`. To add one, write it and add it to this table."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from rocm_doctor.reports.neutral import clean, defuse

if TYPE_CHECKING:
    from rocm_doctor.model import Report

_RENDERERS = {
    "text": "terminal",
    "json": "json",
    "markdown": "markdown",
    "sarif": "sarif",
    "junit": "junit",
    "github": "github",
    "agent": "agent",
}
FORMATS = tuple(_RENDERERS)


class RenderOptions(NamedTuple):
    """Options of rendering: only the terminal uses more than the defaults."""

    width: int = 100
    color: bool = False
    verbose: bool = False
    quiet: bool = False


def render(format_: str, report: Report, look: RenderOptions) -> str:
    """The report in that format, without control sequences and CI commands (neutral.py). Raises KeyError for an unknown format."""
    return render_cleaned(format_, clean(report), look)


def render_cleaned(format_: str, report: Report, look: RenderOptions) -> str:
    """`render` for a report that `clean` returned: for ten formats it is cleaned once."""
    module = importlib.import_module(f"rocm_doctor.reports.{_RENDERERS[format_]}")
    text: str = module.render(report, look)
    return defuse(text, commands=format_ == "github")
