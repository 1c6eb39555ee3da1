"""Every place of one text that its structure, or its shape, gives away; and names known from elsewhere, searched for together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import lower
from rocm_doctor.redaction import addresses, fields, formats, labels, prose, secrets, unknown
from rocm_doctor.redaction.known import is_anonymous, is_distinctive
from rocm_doctor.redaction.rules import NAMES, PSEUDONYM, Pattern, RedactedPlace, RedactionRule, RuleSet
from rocm_doctor.redaction.vocabulary import RUN, find_runs

_SYSLOG = regex(r":(?<=[^\W\d_]{3} [ \d]\d \d\d:)\d\d:\d\d ([A-Za-z0-9][\w.-]*) [\w./@()-]+(?:\[\d+\])?:")
_ISO_LOG = regex(
    r"T(?<=\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? ([A-Za-z][\w.-]*) "
    r"(?:kernel|systemd|sshd|sudo|dbus-daemon|slurmd|containerd|dockerd|[\w./@()-]+\[\d+\]):"
)
_ID_WORDS = ("serial", "unique", "machine", "boot_id", "boot-id", "boot id", "asset")
_SERIAL = Pattern(
    r"(?i:serial(?:[ _-]?(?:number|no|num))?|unique[ _-]?id|machine[ _-]?id|boot[ _-]?id|asset[ _-]?tag)"
    r"[\"']?\s*(?:[:=]\s*|\s)[\"']?(?:GPU-)?(?P<serial>(?:0x)?[A-Za-z0-9][A-Za-z0-9_-]{5,60}(?: (?=[A-Z]*\d)[A-Z0-9]{3,12}(?=[ \t]*(?:\r?\n|\Z)))?)(?![\w:.])"
)


def every_rule() -> list[RedactionRule]:
    """The rules of all modules: where two find the same place, either may name it."""
    serial = RedactionRule(_ID_WORDS, _SERIAL, accept=lambda m: addresses.identifies(m["serial"]))
    return [*formats.PROMPTS, *formats.FORMATS, *prose.PROSE, *fields.field_rules(), *secrets.secret_rules(), serial]


@cache
def _rules() -> RuleSet:
    return RuleSet(every_rule())


_LOGS = (_SYSLOG, _ISO_LOG)


def _find_logged_hosts(pattern: re.Pattern[str], text: str) -> Iterator[RedactedPlace]:
    return (RedactedPlace(*m.span(1), "host", certain=pattern is _SYSLOG) for m in pattern.finditer(text))


_SHAPES = (
    ("container", addresses.containers),
    ("uuid", addresses.uuids),
    ("mac", addresses.macs),
    ("ip", addresses.ips),
    ("email", addresses.emails),
    ("phone", addresses.phones),
)


_MARKED = regex(
    r"[:@\n(-]|\d{2} \d{2}|\.[^.]*\.|[0-9a-f]{64}|UUID=|dev_[0-9A-F]{2}_|\d{5}|\d [\dA-Z]{3}|[\u0590-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7a3]"
)
"""What every search but that of the rules needs: columns a second line, addresses and ids their signs."""


def searches(text: str, found: Sequence[RedactedPlace], words: unknown.UnknownWords) -> Iterator[Iterator[RedactedPlace]]:
    """One search behind the other over the whole of `text`, each nearly in its order; places overlap as they may.

    `found` is what the caller took from the searches so far: the last one leaves those places alone.
    """
    yield from structure_searches(text)
    yield _trim_all(unknown.find_unknown(text, found, words), text)


def structure_searches(text: str) -> Iterator[Iterator[RedactedPlace]]:
    """The searches that know where names are, or what they look like."""
    low = lower(text)
    yield _trim_all(_rules().find(text, low), text)
    if not _MARKED.search(text):  # a report with 50,000 packages is made of such texts
        return
    yield _trim_all(secrets.private_keys(text), text)
    yield _trim_all(labels.find_labelled(text, low), text)
    for pattern in _LOGS:
        yield _trim_all(_find_logged_hosts(pattern, text), text)
    for kind, spans in _SHAPES:
        yield (RedactedPlace(start, end, kind, remember=kind == "uuid") for start, end in spans(text))


def _trim_all(places: Iterable[RedactedPlace], text: str) -> Iterator[RedactedPlace]:
    return (trimmed for place in places if (trimmed := _trim(place, text)))


def _trim(found: RedactedPlace, text: str) -> RedactedPlace | None:
    """The place without the punctuation behind a name; None where what is there identifies no one."""
    value = text[found.start : found.end]
    if "<" in value and PSEUDONYM.search(value):
        return None
    if found.kind not in NAMES:
        return found
    bare = value.strip().rstrip(".-,:;+")
    if len(bare) < 1 or is_anonymous(found.kind, bare) or (not found.certain and not is_distinctive(bare)):
        return None
    start = found.start + len(value) - len(value.lstrip())
    return found._replace(start=start, end=start + len(bare))


class NameFinder:
    """Known names, found in a text as words of their own and not as the keys of JSON."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_run: dict[str, dict[tuple[int, int], set[str]]] = {}
        for name in names:
            if run := RUN.search(name):
                lengths = self._by_run.setdefault(run[0], {})
                lengths.setdefault((run.start(), len(name)), set()).add(name)

    def find(self, text: str, limit: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, name) for each place of a name up to `limit`. A short name is not found as a part of `my_name`; a long one
        is."""
        low = lower(text)
        for at, run in find_runs(self._by_run, low, limit):
            for (before, length), names in self._by_run[run].items():
                start, end = at - before, at - before + length
                name = low[max(0, start) : end]
                apart = name in names and not any(_continues_name(c, name) for c in (low[start - 1 : start], low[end : end + 1]))
                if apart and not _KEY.match(text, end):
                    yield start, end, name


_KEY = regex(r'"\s{0,20}:')


def _continues_name(neighbour: str, name: str) -> bool:
    return neighbour.isalnum() or (neighbour == "_" and len(name) < 5)
