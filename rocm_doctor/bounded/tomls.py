"""TOML measured before it is parsed: Python's own parser is quadratic in the parts of a dotted key."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex

MAX_PARTS = 16
"""Parts of one dotted key. pyproject.toml files use up to six; 40 KB of `a.a.a...` take 10 s and 1.5 GB."""
MAX_DOTTED = 50_000
"""Parts of all dotted keys and table headers: about 1 s of parsing."""

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_TOO_LONG = regex(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_PARTS}}}")
_DOTTED = regex(rf"^[ \t]*(?:\[{{1,2}}[ \t]*)?{_PART}(?:[ \t]*\.[ \t]*{_PART})+", re.MULTILINE)
_LINE = regex(r"at line (\d+)")


def _is_in_string(text: str, at: int) -> bool:
    """Whether a place is inside a string of its line: an address has many dots, and no key."""
    return text.count('"', text.rfind("\n", 0, at) + 1, at) % 2 == 1


def values(text: str) -> dict[str, Any]:
    """The values of a text of TOML 1.0. Raises Unreadable if it is not TOML, nested too deeply, or has too many parts of dotted
    keys."""
    long = next((found for found in _TOO_LONG.finditer(text) if not _is_in_string(text, found.start())), None)
    if long:
        raise Unreadable(f"a key of more than {MAX_PARTS} parts", text.count("\n", 0, long.start()) + 1)
    if sum(found.group().count(".") + 1 for found in _DOTTED.finditer(text)) > MAX_DOTTED:
        raise Unreadable(f"more than {MAX_DOTTED} parts of dotted keys")
    try:
        return msgspec.toml.decode(text, type=dict[str, Any])
    except RecursionError as exc:
        raise Unreadable("no TOML: nested too deeply") from exc
    except ValueError as exc:
        line = _LINE.search(str(exc))
        raise Unreadable(f"no TOML: {str(exc)[:120]}", int(line[1]) if line else 0) from exc
