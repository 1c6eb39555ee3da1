"""Is a run of letters and digits made of known words? Words of the field may be parts of identifiers, words of languages may not."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, compress
from pathlib import Path

from rocm_doctor.bounded.patterns import regex


def wordset(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


RUN = regex(r"[^\W_]+")
SPOKEN, FIELD = 1, 2
"""Who knows a word: a language alone, or the field too."""
INFLECTIONS = ("s", "ed", "ing", "er", "d", "ly", "es", "ers", "ings", "able")
"""Ends of English words whose stem is known. The lists leave such words out."""
LONGEST = 300
"""Letters and digits of a run that may be known: a longer one is encoded data."""
MOST = 100_000
"""Runs whose answer is kept."""
_MOST_PARTS = 16
_OTHER_SCRIPT = regex(r"[\u0e00-\u0e7f\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]")
"""Scripts that write no spaces, or no capitals: a run of them is a sentence as often as a name."""
_SHAPE = regex(
    r"\d+[a-z]{1,4}\d?|[a-z]{1,3}[1-9]\d{0,3}[a-z]?|[a-z]\d+[a-z]\d+|0x[0-9a-f]{1,16}|(?:0{2,}|f{4,})[0-9a-f]{4,14}|v\d+\w*"
    r"|gfx\d\w*|(?:rx|mi|gfx|sm|cp|py|cu|rocm|el|fc|gb|nm)\d+[a-z]*|git[0-9a-f]{6,40}|\d*(?:dev|post|rc|a|b)\d{6,12}|[brv]\d{3,6}|[iwef]\d{4}|\d\dt\d\d|\d+(?:x\d+)+[a-z]{0,4}\d{0,2}|\d+(?:x\d+){3,}\w*|0b[01]+|h[0-9a-f]{7}|[a-f]0+|x{3,}|(.)\1+"
    r"|g[0-9a-f]{6,12}|d20\d{6}|(?:cni|virbr|docker|veth|tun|tap|wg|bond|vxlan|flannel|cali|ppp|enp|eno|ens|wlp|hsn|mei)\d\w{0,8}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,10}"
    r"|(?:\d+d)?\d+h\d+m(?:\d+s)?|\d+d\d+h|\d+m\d+s|\d+(?:\u03bc|\u00b5)s|(?:x\d+)+|mt\d+(?:x\d+)+|m\d+n\d+k\d+|fp\d+[a-z]\d[a-z]\d+|py\d*h[0-9a-f]{6,8}|tmp(?=[a-z_]*\d)\w{4,8}"
    r"|miopen\w*|gemm(?:fwd|bwd|wrw)\w*|conv(?:asm|bin|ck|direct|hip|mp|ocl)[a-z]*\d\w*|[nkcghwyx]{4,5}",
    re.I,
)
"""Sizes, targets, builds, addresses of memory, interfaces: a number with a few letters."""
_PIECES = regex(r"\d+|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")


@cache
def _list(name: str) -> frozenset[str]:
    """The words of one of the lists beside this file."""
    return wordset(Path(__file__).with_name(f"{name}.txt").read_text("utf-8"))


def field_words() -> frozenset[str]:
    """Words of the field and of its software, and the English that reports are written in."""
    return _list("field")


def common_words() -> frozenset[str]:
    """Further words of English, and the commonest of other languages. What is in neither list may be a name."""
    return _list("common")


def runs(text: str, *between: int) -> set[str]:
    """What is written in `text` of letters, or of letters and digits: no numbers, no addresses of memory, nothing of two letters.

    >>> sorted(runs("gfx90a 0x7f3a is_ok: HIP42 7x 12"))
    ['7x', 'HIP42', 'gfx90a']
    """
    found = set(RUN.findall(text, *between))
    return {run for run in found if not run.isdigit() and (len(run) > 2 or run[0].isdigit()) and not run.startswith("0x")}


_GAP = regex(r"[\W_]")
_SPLIT = regex(r"([^\W_]+)")
_BLOCK = 1 << 18


def blocks(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of pieces of about 256 KiB of `text` up to `limit`, cut between two runs."""
    begin = 0
    while begin < limit:
        gap = _GAP.search(text, begin + _BLOCK, limit)
        end = gap.start() if gap else limit
        yield begin, end
        begin = end


def find_runs(wanted: Container[str], text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Each of the `wanted` runs in `text` up to `limit`, with the place where it begins, in order.

    >>> list(find_runs({"b2"}, "a b2_b b22", 10))
    [(2, 'b2')]
    """
    for begin, end in blocks(text, limit):
        parts = _SPLIT.split(text[begin:end])
        yield from compress(zip(accumulate(map(len, parts), initial=begin), parts), map(wanted.__contains__, parts))


def pieces(run: str) -> list[str]:
    """The parts of `HIPErrorNoBinary42`: HIP, Error, No, Binary, 42."""
    return [run] if run.islower() and run.isalpha() else _PIECES.findall(run)


def is_known(run: str, joined: bool = False) -> bool:
    """Whether a run of letters and digits is made of known words and short numbers. `joined`: it is part of an identifier."""
    return vocabulary_level(run) >= (FIELD if joined else SPOKEN)


@lru_cache(MOST)
def vocabulary_level(run: str) -> int:
    """Who knows all words of a run: the field, languages alone, or no one (0)."""
    if run.isdigit() or (not run.isascii() and _OTHER_SCRIPT.search(run)):
        return FIELD
    if len(run) > LONGEST:
        return 0
    whole = _word_level(run.casefold())
    if whole == FIELD or _SHAPE.fullmatch(run):
        return FIELD
    parts = pieces(run)
    if not 1 < len(parts) <= _MOST_PARTS:
        return whole
    if not run.islower() and _is_identifier(parts):
        return FIELD
    numbers = [p for p in parts if p.isdigit()]
    if len(numbers) > 2 or (numbers and len(parts) > 4) or any((n[0] == "0" and len(n) > 1) or len(n) > 4 for n in numbers):
        return whole
    return FIELD if all(p.isdigit() or len(p) == 1 or _word_level(p.casefold()) == FIELD for p in parts) else whole


def _is_identifier(parts: Sequence[str]) -> bool:
    """Whether the parts of a word are those of a function or a class: `hip`, `Device`, `Malloc`, `Finegrained`. One of four may be unknown."""
    named = [p for p in parts if len(p) > 2 and p.isalpha()]
    if len(named) < 3 or not all(p[0].isupper() for p in named[1:]):
        return False
    strange = sum(_word_level(p.casefold()) < FIELD for p in named)
    return 4 * strange <= len(named) and _word_level(named[0].casefold()) == FIELD


def _word_level(word: str) -> int:
    """Who knows this word, or its stem."""
    forms = [word, *(word[: -len(end)] for end in INFLECTIONS if word.endswith(end))]
    if len(word) == 2 or not field_words().isdisjoint(forms):
        return FIELD
    return 0 if common_words().isdisjoint(forms) else SPOKEN


_WORD = regex(r"(?<![^\s(\"'\u00bf\u00a1])[^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?=[\s.,:;!?)\"']|$)")
_ENGLISH = wordset(
    "the a an is are was my i it this that with when on in and not but to of for from at after does do have has how why what which same both if as by be can or we you"
)
FUNCTION_WORDS = wordset(
    "der die das den dem ein eine einen ist nicht mit ich und auf bei wenn mein meine aber auch nach wie von zu im wird hat habe kann noch nur f\u00fcr oder es sie wir soll unser dein"
    " le la les est pas avec je et sur quand mon ma des du un une que pour dans ne plus \u00e7a ai au en ce par el los las con mi cuando se lo del una por no al pero como sin ya me hay y"
    " il di che non per sono ho mio pi\u00f9 gli della nel o os um uma n\u00e3o com meu quando do da em \u00e9 para mas na de het een niet met ik op bij als mijn van voor dat te maar"
    " nie jest si\u0119 z w i \u017ce po ale mam jak przy od \u0438 \u0432 \u043d\u0435 \u043d\u0430 \u044f \u0441 \u0447\u0442\u043e \u043a\u0430\u043a \u0443 \u043f\u0440\u0438 \u043f\u043e \u044d\u0442\u043e \u043d\u043e \u0437\u0430 \u0438\u0437 och att det som p\u00e5 \u00e4r inte jag med f\u00f6r av men har"
    " ve bir bu i\u00e7in ile \u00e7ok ama v je s jsem ja on ei ett\u00e4 kun mutta minha nosso seu sua"
)
"""Of German, French, Spanish, Italian, Portuguese and others."""


@lru_cache(100)
def is_sentence(line: str) -> bool:
    """Whether a line is a sentence of any language that the small words tell."""
    said = {word.casefold() for word in _WORD.findall(line)}
    return len(said & _ENGLISH) > 1 or len(said & FUNCTION_WORDS) > 1
