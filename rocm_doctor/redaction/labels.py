"""Values behind a label, in any language: a person, a company, an address, a telephone, a number of a register. labels.json has the labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.rules import RedactedPlace
from rocm_doctor.redaction.vocabulary import RUN, find_runs

_STOP = '\n<>",;:|/()\\[\\]=\u060c\u061b\u3001\uff0c\u00b7\u2022\u2014\u2013'
_VALUES = {
    "user": regex(rf"[^\s\d\W][^{_STOP}]{{1,60}}"),
    "account": regex(rf"[^\s\d\W][^{_STOP}]{{1,60}}"),
    "place": regex(r"[^\s<>\"'][^\n<>|\"\[\]{}=\u00b7\u2022\u2014]{4,100}"),
}
_SIGN = regex(r"[ \t\"'*.\u05f3]{0,24}[:\uff1a][\"'* \t\u00a0]{0,10}(?=[^\s:\\/=])")
_NUMBER = regex(
    r"[\"'.*\u05f3:\uff1a=# \t\u00a0]{1,9}"
    r"(?:(?P<phone>\+?[(\d][\d ()./\u00a0\u202f-]{5,22}\d(?![\w:]|[.,]\d))|(?P<serial>(?=[^\n\d]{0,4}\d)[A-Z]{0,4}[.-]?\d[\dA-Z ./-]{4,22}[\dA-Z](?!\w)))"
)
_DIGITS = regex(r"\d")
_QUAD = regex(r"\d{1,3}(?:\.\d{1,3}){3}")
_GROUPED = regex(r"\d[ ()./\u00a0\u202f-]{1,3}\d|[+0]\d{7}")


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of labels.json: labels by what they announce."""

    sources: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]


@cache
def _load_labels() -> Labels:
    return msgspec.json.decode(Path(__file__).with_name("labels.json").read_bytes(), type=Labels)


@cache
def _labels_by_last_run() -> dict[str, list[tuple[str, int, str]]]:
    """(label, place of its last run of letters, what it announces) by that run."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    for kind, labels in _load_labels().labels.items():
        for label in map(str.lower, labels):
            *_, last = RUN.finditer(label)
            found.setdefault(last[0], []).append((label, last.start(), kind))
    return found


def _find_labels(low: str) -> Iterator[tuple[int, str]]:
    """(end, kind) for each label of a text: where it ends and what it announces. `low` is the text in lower case."""
    for at, run in find_runs(_labels_by_last_run(), low, len(low)):
        for label, offset, kind in _labels_by_last_run()[run]:
            begin = at - offset
            if low.startswith(label, begin) and not (begin and low[begin - 1].isalnum()):
                yield begin + len(label), kind


def _is_value(kind: str, value: str) -> bool:
    """Whether a labelled value is what its label announces, and not what a program prints behind the same word."""
    digits = len(_DIGITS.findall(value))
    if kind == "phone":
        return 7 <= digits <= 15 and _GROUPED.search(value) is not None and not _QUAD.fullmatch(value)
    if kind == "serial":
        return digits >= 6
    if kind == "place":
        return (
            any(map(str.isalpha, value))
            and " " in value
            and bool(digits)
            and not value.startswith(("0x", "http", "/", "-"))
            and not _QUAD.match(value)
        )
    words = value.split()
    return len(words) <= 6 and all(w[0] != w[0].lower() or not w[0].isascii() for w in words)


def find_labelled(text: str, low: str) -> Iterator[RedactedPlace]:
    """What labels announce: values behind a colon, and numbers behind their word with a colon or without."""
    for end, kind in _find_labels(low):
        if kind in _VALUES:
            if (sign := _SIGN.match(text, end)) and (match := _VALUES[kind].match(text, sign.end())):
                yield from _check_value(kind, match[0], sign.end())
        elif (match := _NUMBER.match(text, end)) and (value := match["phone"] or (kind == "serial" and match["serial"])):
            yield from _check_value(kind, value, match.end() - len(value))


def _check_value(kind: str, value: str, start: int) -> Iterator[RedactedPlace]:
    value = value.rstrip(" \t\r.,;('\u060c")
    if _is_value(kind, value):
        yield RedactedPlace(start, start + len(value), kind, remember=kind in ("user", "account"))
