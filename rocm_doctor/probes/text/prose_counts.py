"""The number of GPUs that a name means: `two RX 7900 XT`, `8x MI300X`, `MI210 x4`, `4 MI100 gpus`."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex

MOST = 16
_BEFORE_COUNT = regex(
    r"(?:\b(\d{1,2})\s?[x×]?|\b(two|dual|pair of|three|four|six|eight|both|twin))\s*(?:(?:of|the|my|amd|radeon|instinct"
    r"|identical|gpus?:?)\s*)*$",
    re.I,
)
_CARDS = regex(r"\s*(?:gpus|cards|accelerators|devices)\b", re.I)
_OWNED = regex(r"(?:^|\b(?:have|has|with|got|own|run|running|using|are)\s+|[:(]\s?)[2-8]\s+(?:amd |radeon )*$", re.I)
_AFTER_COUNT = regex(r"(?:\s+graphics)?\s*(?:\(?\s?[x×]\s?(\d{1,2})\b(?!\s?(?:gb|gib|cm|mm))|\s?\(?(\d) (?:cards|gpus)\b)", re.I)
_COUNTS = {"two": 2, "dual": 2, "pair of": 2, "twin": 2, "both": 1, "three": 3, "four": 4, "six": 6, "eight": 8}


def count_at(text: str, start: int, end: int) -> int:
    """The number of GPUs named in text[start:end], from the words around it (MOST at most): `8x`, `two`, `x4`."""
    after = _AFTER_COUNT.match(text, end)
    if after:
        return int(after.group(1) or after.group(2))
    before = _BEFORE_COUNT.search(text[max(0, start - 40) : start])
    if before is None:
        return 1
    number = before.group(1)
    if number and _CARDS.match(text, end):
        return min(int(number), MOST)
    if number and _OWNED.search(text[max(0, start - 60) : start]):
        return min(int(number), MOST)
    if number:
        return int(number) if re.search(r"[x×]\s*(?:\w+\s*)*$", before.group(0)) or before.group(0).strip() != number else 1
    return _COUNTS[before.group(2).lower()]
