"""JSON in a text that need not be JSON: with warnings before it, extra commas, `...` for omissions, or an early end."""

from __future__ import annotations

from typing import Union

from rocm_doctor.bounded import jsons
from rocm_doctor.bounded.patterns import regex

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]

_DECORATION = regex(r"(?m)^[ \t#>|]+")
_START = regex(r"(?m)^([\[{])\s*(?=[\]}\"\[{]|\Z)")
_LEFT_OUT = regex(r"(?m)^(?:\.{2,}|…),?[ \t]*$")
_EXTRA_COMMA = regex(r",(?=\s*[\]}])")
_ATTEMPTS = 200
"""Values that are tried."""


def roots(text: str) -> list[Json]:
    """The objects and lists that begin a line and are whole; of one that is not, those inside that are. Other text is skipped."""
    found: list[Json] = []
    text = _EXTRA_COMMA.sub("", _LEFT_OUT.sub("", _DECORATION.sub("", jsons.whole_letters(text))))
    decoder, place = jsons.decoder(), 0
    for _ in range(_ATTEMPTS):
        start = _START.search(text, place)
        if start is None:
            break
        try:
            value, place = decoder.raw_decode(text, start.start(1))
            found.append(value)
        except (ValueError, RecursionError):
            place = start.end(1)
    return found
