"""Names, companies, addresses and numbers by the words beside them, in any language: labels of forms, titles, what a company is called,
closings of letters. forms.json has the words and their sources.

Most scripts have no capitals, some write no spaces, and their runs are taken for words. What holds in all of them is the structure: a label
and its value, a title and its name, a signature below a closing, an address with a number of a house.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.rules import Found, end_of_line

_MARKED = "\u0590-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff\u200c\u200d"
"""Scripts without capitals whose vowels are marks, which are no letters to a regular expression."""
_LETTER = rf"[\w{_MARKED}]"
OTHER = regex(rf"[{_MARKED}\uac00-\ud7a3]")
"""A letter of a script without capitals. Chinese and Japanese have rules of their own."""
_OTHER_WORD = rf"[{_MARKED}\uac00-\ud7a3]['\"\u05f3\u05f4{_MARKED}\uac00-\ud7a3-]{{0,40}}"
_WORD = regex(_OTHER_WORD)


class Forms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of forms.json: labels of values, what is written before and behind a name, by kind, and closings of letters."""

    sources: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    before: dict[str, tuple[str, ...]]
    behind: dict[str, tuple[str, ...]]
    closings: tuple[str, ...]


@cache
def _forms() -> Forms:
    return msgspec.json.decode(Path(__file__).with_name("forms.json").read_bytes(), type=Forms)


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_STOP = '\n<>",;:|/()\\[\\]=\u060c\u061b\u3001\uff0c\u00b7\u2022\u2014\u2013'
_VALUES = {
    "user": regex(rf"[^\s\d\W][^{_STOP}]{{1,60}}"),
    "account": regex(rf"[^\s\d\W][^{_STOP}]{{1,60}}"),
    "place": regex(r"[^\s<>\"'][^\n<>|\"\[\]{}=\u00b7\u2022\u2014]{4,100}"),
}
_SIGN = regex(r"[:\uff1a](?<![\d:/\\].)[\"'* \t\u00a0]{0,10}(?=[^\s:\\/=])")
_NUMBER = regex(
    r"[\"'.*\u05f3:\uff1a=# \t\u00a0](?<=[^\W\d_].)[\"'.*\u05f3:\uff1a=# \t\u00a0]{0,8}"
    r"(?:(?P<phone>\+?[(\d][\d ()./\u00a0\u202f-]{5,22}\d(?![\w:]|[.,]\d))|(?P<serial>(?=[^\n\d]{0,4}\d)[A-Z]{0,4}[.-]?\d[\dA-Z ./-]{4,22}[\dA-Z](?!\w)))"
)
_LABEL = 48
"""Characters of a label, at most."""


@cache
def _by_last_word() -> dict[str, list[tuple[str, str]]]:
    """The labels, and what each announces, by their last words."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, labels in _forms().labels.items():
        for label in map(str.casefold, labels):
            found.setdefault(label.split()[-1], []).append((label, kind))
    return found


def _announced(text: str, end: int) -> list[str]:
    """The kinds that the label before `end` announces."""
    before = text[max(0, end - _LABEL) : end].rstrip(" \t\"'*.\u05f3")
    last = before[max(before.rfind(" "), before.rfind("\n")) + 1 :].casefold().lstrip(_BULLETS)
    if last not in _by_last_word():
        return []
    low = before.casefold()
    ends = ((kind, low[: -len(label)]) for label, kind in _by_last_word()[last] if low.endswith(label))
    return [kind for kind, rest in ends if not rest[-1:].isalnum()]


_BULLETS = "-*\u2022\u00b7(|>.#\"'{,;/"
_DIGITS = regex(r"\d")
_QUAD = regex(r"\d{1,3}(?:\.\d{1,3}){3}")
_GROUPED = regex(r"\d[ ()./\u00a0\u202f-]{1,3}\d|[+0]\d{7}")
_PHONE_BEHIND = regex(
    r"(?i:[\s,.]*(?:\u0e42\u0e17\u0e23|tel|phone|\u05d8\u05dc|\u0647\u0627\u062a\u0641|\uc804\ud654)\b|[\s,]*\+?\d[\d -]{7,})"
)


def _is_value(kind: str, value: str) -> bool:
    """Whether a labelled value is what its label announces, and not what a program prints behind the same word."""
    digits = len(_DIGITS.findall(value))
    if kind == "phone":
        return 7 <= digits <= 15 and _GROUPED.search(value) is not None and not _QUAD.fullmatch(value)
    if kind == "serial":
        return digits >= 6
    if kind == "place":
        spoken = any(map(str.isalpha, value)) and not value.startswith(("0x", "http", "/", "-"))
        return spoken and " " in value and bool(digits) and not _QUAD.match(value)
    words = value.split()
    return len(words) <= 6 and (OTHER.match(value) is not None or all(w[0] != w[0].lower() or not w[0].isascii() for w in words))


def _labels(text: str) -> Iterator[Found]:
    for sign in _SIGN.finditer(text):
        for kind in _announced(text, sign.start()):
            if kind in _VALUES and (match := _VALUES[kind].match(text, sign.end())):
                yield from _value(kind, match[0], sign.end())


def _numbers(text: str) -> Iterator[Found]:
    """Numbers behind the word for a telephone, or for what a register gives: with a colon or without."""
    for match in _NUMBER.finditer(text):
        for kind in _announced(text, match.start()):
            value = match["phone"] or (kind == "serial" and match["serial"])
            if kind in ("phone", "serial") and value:
                yield from _value(kind, value, match.end() - len(value))


def _value(kind: str, value: str, start: int) -> Iterator[Found]:
    if kind == "place" and (phone := _PHONE_BEHIND.search(value)):
        value = value[: phone.start()]
    value = value.rstrip(" \t\r.,;('\u060c")
    if _is_value(kind, value):
        yield Found(start, start + len(value), kind, learn=kind in ("user", "account"))


_NO_NAME_BEHIND = "(?!\u0e2a\u0e32\u0e21\u0e32\u0e23\u0e16|\u0e15\u0e49\u0e2d\u0e07|\u0e08\u0e30|\u0e43\u0e0a\u0e49|\u0e20\u0e32\u0e1e|\u0e21\u0e35|\u0e0a\u0e48\u0e27\u0e22|\u0e25\u0e2d\u0e07|\u0e17\u0e35\u0e48|\u0e44\u0e14\u0e49)"
"""Thai for `can`, `must`, `will`, `use`, `quality`, `have`, `help`, `try`, `that`, `may`: `you` is the title of a name, too."""


@cache
def _beside() -> tuple[tuple[str, re.Pattern[str]], ...]:
    before, behind = _forms().before, _forms().behind
    words = {kind: _any(words) for kind, words in before.items()}
    after = {kind: _any(words) for kind, words in behind.items()}
    edge, end = rf"(?<!{_LETTER})", rf"(?!{_LETTER})"
    return (
        ("user", regex(rf"{edge}(?:{words['user']}) ?{_NO_NAME_BEHIND}(?P<value>(?<=[ .\u0e00-\u0e7f]){_OTHER_WORD}(?: {_OTHER_WORD})?)")),
        ("account", regex(rf"{edge}(?P<value>(?:{words['account']}) ?{_OTHER_WORD}(?: {_OTHER_WORD}){{0,2}})")),
        ("account", regex(rf"{edge}(?P<value>{_OTHER_WORD}(?: {_OTHER_WORD}){{0,2}}? (?:{after['account']})){end}")),
        ("account", regex(rf"(?<![\uac00-\ud7a3])(?P<value>[\uac00-\ud7a3]{{2,8}}(?:{after['account']})){end}")),
        ("user", regex(rf"(?<![\uac00-\ud7a3])(?P<value>[\uac00-\ud7a3]{{2,4}}) (?:{after['user']})\ub2d8?(?:\uc774|\uac00|\uc740|\ub294|\uaed8\uc11c|\uaed8|\uc5d0\uac8c|\ud55c\ud14c|\uc758|\ub3c4|\uc785\ub2c8\ub2e4)?{end}")),
        ("user", regex(rf"{edge}(?P<value>{_OTHER_WORD}(?: {_OTHER_WORD})?) (?:\u091c\u0940|\u09ac\u09be\u09ac\u09c1|\u0635\u0627\u062d\u0628){end}")),
        ("place", regex(rf"{edge}(?i:{words['place']})\s?{_LETTER}[^\n,;|(){{}}\u060c]{{1,40}}?[ ,\u060c]{{1,2}}\d{{1,4}}(?:[/-]\d{{1,4}})?(?:,? {_OTHER_WORD}){{0,3}}")),
        ("place", regex(rf"\d{{1,4}}(?:/\d{{1,4}})? ?(?:{words['place']}){_OTHER_WORD}(?: \d{{1,3}})?(?: (?:{words['place']}) ?{_OTHER_WORD}){{0,3}}")),
        ("place", regex(rf"{edge}(?:{_OTHER_WORD} ){{1,2}}(?:{after['place']}),? \d{{1,4}}(?:[-/]\S{{1,5}})?(?:, {_OTHER_WORD}){{0,3}}")),
        ("place", regex(r"(?:[\uac00-\ud7a3]{1,6}(?:\ub3c4|\uc2dc|\uad6c|\uad70|\ub0a8|\ubd81) |[\uac00-\ud7a3]{2} (?=[\uac00-\ud7a3]{2,6}[\uc2dc\uad70] )){1,3}[\uac00-\ud7a3\d]{1,10}(?:\ub85c|\uae38|\ub3d9|\ub9ac)(?: ?\d{1,4}(?:\ubc88?\uae38))? ?\d{1,4}(?:-\d{1,4})?(?:,? \d{1,4}(?:\uce35|\ud638|\ub3d9)){0,2}")),
    )  # fmt: skip


def _neighbours(text: str) -> Iterator[Found]:
    for kind, pattern in _beside():
        for match in pattern.finditer(text):
            span = match.span("value") if "value" in pattern.groupindex else match.span()
            yield Found(*span, kind, learn=False)


_LATIN_NAME = r"[A-Z\u00c0-\u00de][\w'\u2019-]{1,30}(?: [A-Z\u00c0-\u00de][\w'\u2019-]{1,30}){1,3}"
_ANY_NAME = rf"(?:(?<![\u3040-\u30ff\u3400-\u9fff])[\u3040-\u30ff\u3400-\u9fff]{{1,6}}(?:[ \u3000\u30fb][\u3040-\u30ff\u3400-\u9fff]{{1,6}})?|(?<!{_LETTER}){_OTHER_WORD}(?: {_OTHER_WORD}){{0,3}})"
_TWICE = regex(
    rf"(?P<user>{_LATIN_NAME}) ?[(/\uff08] ?(?P<user2>{_ANY_NAME})(?=[ )\uff09,\n]|$)|(?P<user3>{_ANY_NAME}) ?[(/\uff08] ?(?P<user4>{_LATIN_NAME}|[A-Z][a-z]{{2,20}}(?=[,)\n]))"
)
"""A name in two scripts: `Takumi Hoshida (…)`."""


def _in_two_scripts(text: str) -> Iterator[Found]:
    return (
        Found(*m.span(name), "user", sure=False)
        for m in _TWICE.finditer(text)
        for name in ("user", "user2", "user3", "user4")
        if m[name]
    )


_HELLO = regex(
    r"(?:\uc548\ub155\ud558\uc138\uc694|\uc548\ub155\ud558\uc2ed\ub2c8\uae4c|\uc800\ub294)[,.! ]{1,3}(?P<body>(?:[\w\uac00-\ud7a3]{1,12} ){0,4})(?P<user>[\uac00-\ud7a3]{2,4})(?:\uc785\ub2c8\ub2e4|\uc774\ub77c\uace0|\ub77c\uace0)"
)
_FROM = regex(
    r"(?:\u304a\u4e16\u8a71\u306b\u306a[^\n\u3002]{0,12}|\u306f\u3058\u3081\u307e\u3057\u3066|\u3053\u3093\u306b\u3061\u306f)[\u3002\u3001,.! \n]{1,2}(?P<account>[^\s\u3002\u3001\u306e]{2,20})\u306e(?P<user>[\u3400-\u9fff]{1,4})(?=\u3067\u3059|\u3068\u7533)"
    r"|\u6211\u662f(?P<account2>[^\s\uff0c\u3002\u7684]{2,12})\u7684(?P<user2>[\u3400-\u9fff]{2,4})(?<![\u751f\u5458\u5e08\u8005\u6237\u4eba])(?=[\uff0c\u3002,.])"
)
"""`I am NAME of COMPANY` in Japanese and Chinese, behind a greeting."""
_NO_ONE = frozenset((
    "\uc0ac\uc6a9\uc790", "\uac1c\ubc1c\uc790", "\uc5d4\uc9c0\ub2c8\uc5b4", "\ud559\uc0dd", "\ub300\ud559\uc6d0\uc0dd", "\ub2f4\ub2f9\uc790", "\uc5f0\uad6c\uc6d0", "\ucd08\ubcf4", "\ucd08\ubcf4\uc790", "\uad00\ub9ac\uc790", "\uc9c1\uc6d0", "\ub274\ube44", "\uc720\uc800", "\ubb38\uc758",
))  # fmt: skip
"""Korean for what one may be instead of having a name: `user`, `developer`, `engineer`, `student`, `person in charge`."""
_VERBAL = ("\ub294", "\ud55c", "\ub358", "\uc744", "\ub97c", "\uc73c\ub85c", "\uc758", "\uc740")
_HANGUL = regex(r"[\uac00-\ud7a3]{2,12}")


def _introduced(text: str) -> Iterator[Found]:
    """The name, and the company, of `안녕하세요, COMPANY AI팀 NAME입니다`."""
    for match in _HELLO.finditer(text):
        if match["user"] in _NO_ONE:
            continue
        yield Found(*match.span("user"), "user")
        begin = match.start("body")
        words = list(_HANGUL.finditer(text, begin, match.end("body")))
        if not any(w[0].endswith(_VERBAL) for w in words):
            yield from (Found(*w.span(), "account") for w in words if not w[0].endswith("\ud300"))


_CONTACT = regex(r"@[\w-]+\.|\[at\]|\(at\)|\+\d{2}|\d{2,4}[ -]\d{3}")
_SEGMENTS = regex(r"[^\n,|\u00b7\u2022\u2014\u2013/:()<>\u060c\u061b\u3001\uff0c]+")
_SIGNED_LINES, _WORDS_OF_A_NAME, _LONG_LINE = 4, 5, 100
_SHORT_HAN = regex(r"[\u3400-\u9fff]{1,4}[ \u3000]?[\u3040-\u30ff\u3400-\u9fff]{1,4}")
_TECHNICAL = ("$", "[", "`", "#", ">", "|", "{")


@cache
def _closing() -> re.Pattern[str]:
    return regex(rf"^[ \t>]*(?:{_any(_forms().closings)})[^\n]{{0,40}}$", re.M | re.I)


def _signatures(text: str) -> Iterator[Found]:
    """Names in the lines below a closing, and in the last paragraph of a text where it has a mail address or a telephone number."""
    for match in _closing().finditer(text):
        line = text[match.start() : match.end()]
        if "," in line.rstrip(" ,") or "\u060c" in line.rstrip(" \u060c"):
            comma = max(line.find(","), line.find("\u060c"))
            yield from _names_in(text, match.start() + comma + 1, match.end())
        end = match.end()
        for _ in range(_SIGNED_LINES):
            begin = end + 1
            while text[begin : begin + 1] in ("\n", "\r"):
                begin += 1
            end = end_of_line(text, begin)
            if begin >= len(text) or not _is_of_a_signature(text[begin:end]):
                break
            yield from _names_in(text, begin, end)
    lines = list(_last_lines(text))
    if any(_CONTACT.search(text, *span) for span in lines):
        for begin, end in lines:
            if _CONTACT.search(text, begin, end) or len(_WORD.findall(text, begin, end)) < _WORDS_OF_A_NAME:
                yield from _names_in(text, begin, end)


def _is_of_a_signature(line: str) -> bool:
    return (
        len(line) < _LONG_LINE
        and not line.lstrip().startswith(_TECHNICAL)
        and all(len(segment.split()) <= _WORDS_OF_A_NAME + 1 for segment in _SEGMENTS.findall(line))
    )


def _last_lines(text: str) -> Iterator[tuple[int, int]]:
    end = len(text)
    for _ in range(_SIGNED_LINES):
        end = len(text[max(0, end - 1_000) : end].rstrip()) + max(0, end - 1_000)
        begin = text.rfind("\n", max(0, end - 1_000), end) + 1
        if end <= begin:
            return
        if end - begin < 2 * _LONG_LINE and not text[begin:end].lstrip().startswith(_TECHNICAL):
            yield begin, end
        if text[begin - 2 : begin] == "\n\n":
            return
        end = begin


def _names_in(text: str, begin: int, end: int) -> Iterator[Found]:
    """Each part of a line that is a few words of a script without capitals; what a label says stays."""
    for segment in _SEGMENTS.finditer(text, begin, end):
        if text[segment.end() : segment.end() + 1] == ":" or len(segment[0].split()) > _WORDS_OF_A_NAME + 1:
            continue
        bare = segment[0].strip(" .!\t\r")
        start = segment.start() + segment[0].find(bare)
        if _closing().match(bare):
            continue
        if _SHORT_HAN.fullmatch(bare):
            yield Found(start, start + len(bare), "user")
        elif words := list(_WORD.finditer(text, start, start + len(bare))):
            yield Found(words[0].start(), words[-1].end(), "user", learn=False)


def in_forms(text: str) -> Iterator[Found]:
    """Labelled values in any language; what else only scripts without capitals need where the text has any."""
    yield from _labels(text)
    yield from _numbers(text)
    if not text.isascii():
        yield from _in_two_scripts(text)
        yield from _signatures(text)
        yield from (Found(*m.span(kind), kind.rstrip("2")) for m in _FROM.finditer(text) for kind in m.groupdict() if m[kind])
    if OTHER.search(text):
        yield from _neighbours(text)
        yield from _introduced(text)
