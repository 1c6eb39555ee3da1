"""JSON without what makes its decoders fail: invalid UTF-8, deep nesting, halves of surrogate pairs, numbers of megabytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.patterns import regex

if TYPE_CHECKING:
    import json

T = TypeVar("T")
LONGEST_NUMBER = 400
"""Digits of a whole number. float64 ends at 309, and Python refuses to convert more than 4300."""

_ESCAPED = regex(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def decode(data: bytes | str, kind: type[T]) -> T:
    """The JSON as this type. Raises Unreadable if it is not JSON, not of the type, or nested too deeply."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as exc:
        raise Unreadable(str(exc)[:200]) from exc
    except RecursionError as exc:
        raise Unreadable("nested too deeply") from exc


def loads(text: str) -> Any:
    """The plain values of a JSON text. Raises Unreadable if it is not JSON or nested too deeply."""
    import json

    try:
        return json.loads(whole_letters(text), parse_int=_number)
    except RecursionError as exc:
        raise Unreadable("nested too deeply") from exc
    except ValueError as exc:
        raise Unreadable(str(exc)[:200], getattr(exc, "lineno", 0)) from exc


def decoder() -> json.JSONDecoder:
    """A decoder for JSON inside other text. It raises ValueError and RecursionError; hand it `whole_letters` of the text."""
    import json

    return json.JSONDecoder(parse_int=_number)


def _number(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def whole_letters(text: str) -> str:
    r"""The text with U+FFFD for each half of a surrogate pair that is escaped without its other half (`\ud83d`), at the same
    length: such halves cannot be written to any file."""
    return _ESCAPED.sub(_whole, text) if "\\ud" in text or "\\uD" in text else text


def _whole(found: re.Match[str]) -> str:
    return "\\ufffd" if len(found.group()) == 6 else found.group()
