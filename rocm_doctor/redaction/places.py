"""Postal codes: behind their label, before the name of a town, and in the shapes that say it by themselves."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.rules import Pattern, Rule, Spans
from rocm_doctor.redaction.vocabulary import is_known

_CODES = (
    "postal code", "postalcode", "postal_code", "postcode", "post code", "zip code", "zipcode", "zip", "plz", "code postal", "c\u00f3digo postal", "codigo postal", "cep", "kod pocztowy",
    "ps\u010d", "postnummer", "postnr", "postinumero", "ir\u00e1ny\u00edt\u00f3sz\u00e1m", "posta kodu", "kode pos", "m\u00e3 b\u01b0u ch\u00ednh", "\u03c4.\u03ba.", "\u0438\u043d\u0434\u0435\u043a\u0441", "\uc6b0\ud3b8\ubc88\ud638", "\u90f5\u4fbf\u756a\u53f7", "\u90ae\u7f16", "\u0e23\u0e2b\u0e31\u0e2a\u0e44\u0e1b\u0e23\u0e29\u0e13\u0e35\u0e22\u0e4c",
    "\u0627\u0644\u0631\u0645\u0632 \u0627\u0644\u0628\u0631\u064a\u062f\u064a", "\u05de\u05d9\u05e7\u05d5\u05d3", "\u092a\u093f\u0928 \u0915\u094b\u0921", "pincode", "pin code", "\u043f\u043e\u0449\u0435\u043d\u0441\u043a\u0438 \u043a\u043e\u0434",
)  # fmt: skip

CODES = (
    Rule(
        _CODES,
        Pattern(
            rf"(?<![^\W_])(?i:{'|'.join(map(re.escape, sorted(_CODES, key=len, reverse=True)))})[\"']?[ \t]?[:=\uff1a#>]?[ \t]?[\"']?(?P<place>(?=[A-Z -]{{0,4}}\d)[A-Z0-9](?:[A-Z0-9]|[ -](?=[A-Z0-9])){{2,9}})(?![\w.])"
        ),
        learn=False,
        accept=lambda m: sum(map(str.isdigit, m["place"])) >= 2,
    ),
    Rule(
        ("plot ", "flat ", "house no", "door no", "shop no"),
        Pattern(
            r"(?<![\w-])(?i:plot|flat|house|door|shop) ?(?i:no\.? ?)?(?P<place>\d{1,4}[A-Z]?, [A-Z][a-z]{2,20}(?:,? [A-Z][a-z]{2,20}){1,3})"
        ),
        learn=False,
    ),
    Rule(("\u3012",), Pattern(r"\u3012 ?(?P<place>\d{3}-?\d{4})"), learn=False),
)

_TOWN = regex(r"[ \u00a0](?<=[\dA-Z].)(?P<town>[^\W\d_a-z][^\W\d_]{2,30})")
_CODE_BEFORE = regex(
    r"(?:^|[,\n|\u00b7]) ?(?P<code>(?:[A-Z]{1,2}-)?(?:\d{4,6}|\d{3} \d{2}|\d{2}-\d{3}|\d{4}-\d{3}|\d{4} [A-Z]{2}))\Z"
)
_LONGEST = 14
_INWARD = regex(r" \d(?<=[A-Z\d].\d)[A-Z][A-Z\d](?![\w-])")
_ALONE = regex(
    r"(?<![\w-])(?:[A-PR-UWYZ][A-HK-Y]?\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}|[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] \d[ABCEGHJ-NPRSTV-Z]\d)\Z"
)
"""Codes of Britain and Canada, whose second half is `_INWARD`."""
_NO_CODE = regex(r"(?:RX|MI|HD|GT|PC)\d|.*(?:[GTB]B|HZ|XT|[A-Z]X)$")
"""Products and sizes: `RX7 9XT`, `M2 8GB`."""


def postcodes(text: str) -> Spans:
    """Codes of Britain and Canada; others where they follow a comma and the name of a town comes next, which is no known word."""
    for inward in _INWARD.finditer(text):
        alone = _ALONE.search(text[max(0, inward.start() - 5) : inward.end()])
        if alone and not _NO_CODE.match(alone[0]):
            yield inward.end() - len(alone[0]), inward.end()
    for town in _TOWN.finditer(text):
        code = _CODE_BEFORE.search(text[max(0, town.start() - _LONGEST) : town.start()])
        if code and (code.start() or town.start() <= _LONGEST) and not is_known(town["town"]):
            yield town.start() - len(code["code"]), town.start()
