"""Everything in one text that its structure, or its shape, gives away; and names known from elsewhere, searched for together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

import ahocorasick

from rocm_doctor.redaction import addresses, fields, machines, people, secrets
from rocm_doctor.redaction.rules import Found, RuleSet, lower

_SYSLOG = re.compile(r":(?<=[A-Z][a-z]{2} [ \d]\d \d\d:)\d\d:\d\d ([A-Za-z0-9][\w.-]*) [\w./@()-]+(?:\[\d+\])?:")
_ISO_LOG = re.compile(
    r"T(?<=\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? ([A-Za-z][\w.-]*) "
    r"(?:kernel|systemd|sshd|sudo|dbus-daemon|slurmd|containerd|dockerd|[\w./@()-]+\[\d+\]):"
)
_SPACED_LOG = re.compile(r"-(?<=\d{4}-)\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})? ([A-Za-z][\w.-]*) (?:kernel|[\w./@()-]+\[\d+\]):")
_ID_WORDS = ("serial", "unique", "machine", "boot_id", "boot-id", "boot id", "asset")
_SERIAL = re.compile(
    r"(?i:serial(?:[ _-]?(?:number|no|num))?|unique[ _-]?id|machine[ _-]?id|boot[ _-]?id|asset[ _-]?tag)"
    r"[\"']?\s*(?:[:=]\s*|\s)[\"']?(?:GPU-)?(?P<serial>(?:0x)?[A-Za-z0-9][A-Za-z0-9-]{5,60})(?![\w:.])"
)


@cache
def _rules() -> RuleSet:
    from rocm_doctor.redaction.rules import Rule

    serial = Rule(_ID_WORDS, _SERIAL, accept=lambda m: addresses.identifies(m["serial"]))
    return RuleSet([*people.PROMPTS, *people.PEOPLE, *machines.MACHINES, *fields.rules(), *secrets.rules(), serial])


_SHAPES = (
    ("container", addresses.containers),
    ("uuid", addresses.uuids),
    ("mac", addresses.macs),
    ("mac", addresses.cisco_macs),
    ("ip", addresses.ips),
    ("email", addresses.emails),
)


def find(text: str) -> Iterator[Found]:
    """Every place of `text` that holds a name, an id, an address or a secret, overlapping as they may."""
    low = lower(text)
    yield from _rules().find(text, low)
    yield from fields.tables(text, low)
    yield from secrets.private_keys(text)
    for pattern in (_SYSLOG, _ISO_LOG, _SPACED_LOG):
        yield from (Found(*m.span(1), "host", sure=pattern is _SYSLOG) for m in pattern.finditer(text))
    for kind, spans in _SHAPES:
        yield from (Found(start, end, kind, learn=kind == "uuid") for start, end in spans(text))


class Search:
    """Known names, found in a text as words of their own and not as the keys of JSON."""

    def __init__(self, names: Iterable[str]) -> None:
        self._automaton = ahocorasick.Automaton()
        for name in names:
            self._automaton.add_word(name, name)
        self._automaton.make_automaton()

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where each name stands: a short one is no part of `my_name`, a long one is."""
        for last, name in self._automaton.iter(lower(text)):
            start, end = last - len(name) + 1, last + 1
            around = text[start - 1 : start] + text[end : end + 1]
            if any(c.isalnum() or (c == "_" and len(name) < 5) for c in around) or _KEY.match(text, end):
                continue
            yield start, end, name


_KEY = re.compile(r'"\s{0,20}:')
