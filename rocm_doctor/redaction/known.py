"""What redaction knows as data: token shapes and field names (known.json), names that identify no one, words of the field."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.vocabulary import field_words


class TokenShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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

    tokens: tuple[TokenShape, ...]
    fields: dict[str, tuple[str, ...]]
    accounts: frozenset[str]
    groups: frozenset[str]
    public_hosts: frozenset[str]
    public_owners: frozenset[str]


@cache
def load_known() -> Known:
    """The tables of known.json."""
    return msgspec.json.decode(Path(__file__).with_name("known.json").read_bytes(), type=Known)


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
def is_anonymous(kind: str, name: str) -> bool:
    """Whether a name of this kind identifies no one: an account of the system, a public host, hardware, a number, a file."""
    low = name.casefold()
    if kind == "account" and name.isdigit():
        return len(name) < 9
    if (
        low in load_known().accounts
        or (kind == "group" and low in load_known().groups)
        or (_NO_NAME.fullmatch(name) and not (kind == "host" and _COUNTRY.fullmatch(name)))
        or _HARDWARE.fullmatch(name)
    ):
        return True
    return kind == "host" and is_public(low)


def is_public(host: str) -> bool:
    """True if everyone uses the host, or the domain that it is in (known.json)."""
    labels = host.split(".")
    return any(".".join(labels[n:]) in load_known().public_hosts for n in range(len(labels)))


@lru_cache(4096)
def is_distinctive(name: str) -> bool:
    """Whether a name is looked for outside of the place that gives it away: it has three letters and is not a word of the language."""
    return len(name) >= 3 and name.casefold() not in field_words() and not _NUMBERED.fullmatch(name)
