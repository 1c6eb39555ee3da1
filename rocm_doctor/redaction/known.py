"""What redaction knows as data: token shapes and field names (known.json), names that identify no one, words of the field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from rocm_doctor.bounded.patterns import regex

_T = TypeVar("_T")
_HERE = Path(__file__).parent
_MOST_SEARCHES = 1000
"""Words that are searched for in a list as it is."""


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shape of a service's tokens: prefixes with the letters and the least length behind them, or hints and a pattern."""

    service: str
    source: str
    prefixes: tuple[str, ...] = ()
    letters: str = ""
    least: int = 0
    hints: tuple[str, ...] = ()
    pattern: str = ""


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of known.json."""

    tokens: tuple[Shape, ...]
    fields: dict[str, tuple[str, ...]]
    accounts: frozenset[str]
    groups: frozenset[str]
    public_hosts: frozenset[str]
    mail_providers: frozenset[str]
    public_owners: frozenset[str]
    columns: dict[str, str]
    """Headers of columns, and the kind of what is below them."""
    given_names: frozenset[str]
    given_words: frozenset[str]
    """First names: those that are no words that reports hold, and those that are."""


@cache
def known() -> Known:
    """The tables of known.json."""
    return msgspec.json.decode((_HERE / "known.json").read_bytes(), type=Known)


@cache
def words() -> frozenset[str]:
    """Words of English and of the field: a name that is one of them is replaced where it stands as a name, and nowhere else."""
    return _read("words")


def _read(name: str) -> frozenset[str]:
    """The words of one of the lists beside this file."""
    return frozenset((_HERE / f"{name}.txt").read_text("utf-8").split())


class WordList(Set[str]):
    """The words of sorted files. The files are searched as they are until a text asks for many words: a set of all takes longer to
    make than one report takes to judge."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._texts = [(_HERE / f"{name}.txt").read_bytes().replace(b"\n", b" ").strip() for name in names]
        self._searches = _MOST_SEARCHES

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset().union(*map(_read, self._names))

    def __contains__(self, word: object) -> bool:
        if not self._searches or not isinstance(word, str):
            return word in self._all
        self._searches -= 1
        wanted = word.encode(errors="replace")
        return any(_holds(text, wanted) for text in self._texts)

    @classmethod
    def _from_iterable(cls, it: Iterable[_T]) -> Set[_T]:
        """What `|` and `&` of a list return."""
        return frozenset(it)

    def isdisjoint(self, other: Iterable[str]) -> bool:
        """True if none of these is in the list."""
        return super().isdisjoint(other) if self._searches else self._all.isdisjoint(other)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _holds(text: bytes, wanted: bytes) -> bool:
    """Whether a sorted text of words, a blank between two, has this one.

    >>> [_holds(b"cat dog fox", word) for word in (b"cat", b"fox", b"do", b"dogs", b"")]
    [True, True, False, False, False]
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        start = text.rfind(b" ", low, middle) + 1 or low
        end = text.find(b" ", middle)
        word = text[start:] if end < 0 else text[start:end]
        if word == wanted:
            return True
        low, high = (start + len(word) + 1, high) if word < wanted else (low, start)
    return False


@cache
def field_words() -> Set[str]:
    """Words of the field and of its software. scripts/vocabulary.py makes field.txt, software.txt and the two lists below; terms.txt is kept by hand."""
    return WordList("words", "field", "software", "terms")


@cache
def spoken_words() -> Set[str]:
    """Words of languages: what is neither one of these nor of the field may be a name."""
    return WordList("spoken")


@cache
def compounds() -> frozenset[str]:
    """Words joined by hyphens that name a thing of the field."""
    return _read("compounds")


# A machine called after its hardware or its software is as anonymous as these are.
_HARDWARE = regex(
    r"gfx\d\w*|(?:rx|mi|vega|navi|rocm|hip|cuda|rdna|cdna|zen|epyc|ryzen|radeon|instinct)[-_]?\d{1,5}\w{0,4}|\d{3,4}(?:xtx?|gre|x3d|hx|hs)"
    r"|strix(?:[-_]?(?:halo|point))?|(?:amd)?gpus?|w[67]\d00|v620|r9700|[ah]100|rocm|amdgpu|epyc|ryzen|radeon|instinct|vega|navi|wsl2?",
    re.I,
)
# Positions in a list and not names: rank0, card1, node-2.
_NUMBERED = regex(
    r"(?:gpu|rank|card|cuda|step|epoch|layer|cpu|job|task|tty|pts|eth|ib|nic|stage|shard|part)[-_]?\d{0,2}"
    r"|(?:node|worker|host|server|master)[-_]?\d?",
    re.I,
)
_NO_NAME = regex(
    r"\d[\d.:,_-]*|v?\d+(?:\.\d+)+\S*|[\W_]+|0x[0-9a-f]+|.*\.(?:py|so|cpp|cc|cu|hip|h|hpp|log|txt|json|ya?ml|sh|md|zip|gz)", re.I
)

_COUNTRY = regex(r"[a-z][\w-]*(?:\.[\w-]+)+\.(?:cc|md|py|sh|so)", re.I)
"""Hosts in countries whose letters are the end of a file's name."""


@lru_cache(4096)
def anonymous(kind: str, name: str) -> bool:
    """Whether a name of this kind identifies no one: an account of the system, a public host, hardware, a number, a file."""
    low = name.casefold()
    if kind == "account" and name.isdigit():
        return len(name) < 9
    if (
        low in known().accounts
        or (kind == "group" and low in known().groups)
        or (_NO_NAME.fullmatch(name) and not (kind == "host" and _COUNTRY.fullmatch(name)))
        or _HARDWARE.fullmatch(name)
    ):
        return True
    return kind == "host" and is_public(low)


def is_public(host: str) -> bool:
    """Whether the host, or the domain that it is in, is one that everyone uses."""
    labels = host.split(".")
    return any(".".join(labels[n:]) in known().public_hosts for n in range(len(labels)))


@lru_cache(4096)
def distinctive(name: str) -> bool:
    """Whether a name is looked for outside of the place that gives it away: it has three letters and is no word of the language."""
    return len(name) >= 3 and name.casefold() not in words() and not _NUMBERED.fullmatch(name)


_SECOND_LEVEL = frozenset(["ac", "co", "com", "edu", "gov", "gob", "go", "ne", "net", "or", "org"])


def domain_of(host: str) -> str:
    """The domain that somebody registered and other hosts of theirs are in: `kestrel.example` of `gpu1.hpc.kestrel.example`; empty where
    there is none, or everybody uses it."""
    labels = host.casefold().rstrip(".").split(".")
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    domain = ".".join(labels[-size:])
    named = len(labels) >= size and labels[-1].isalpha() and not _LOCAL.fullmatch(labels[-1])
    return domain if named and not is_public(domain) and domain not in known().mail_providers else ""


_LOCAL = regex("local|lan|internal|corp|cluster|localdomain|intranet|home|arpa|private|box|test|mgmt|infra|svc|example|[a-z]")
