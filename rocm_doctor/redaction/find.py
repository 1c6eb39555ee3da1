"""Every place of one text that its structure, or its shape, gives away; and names known from elsewhere, searched for together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import lower
from rocm_doctor.redaction import addresses, fields, formats, labels, prose, secrets, unknown
from rocm_doctor.redaction.known import is_anonymous, is_distinctive
from rocm_doctor.redaction.rules import NAMES, PSEUDONYM, Found, Pattern, Rule, RuleSet
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


def every_rule() -> list[Rule]:
    """The rules of all modules: where two find the same place, either may name it."""
    serial = Rule(_ID_WORDS, _SERIAL, accept=lambda m: addresses.identifies(m["serial"]))
    return [*formats.PROMPTS, *formats.FORMATS, *prose.PROSE, *fields.field_rules(), *secrets.secret_rules(), serial]


@cache
def _rules() -> RuleSet:
    return RuleSet(every_rule())


@cache
def _host_rules() -> RuleSet:
    return RuleSet([*formats.PROMPTS, *formats.ITSELF])


_SPACED_LOG = regex(r"-(?<=\d{4}-)\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})? ([A-Za-z][\w.-]*) (?:kernel|[\w./@()-]+\[\d+\]):?")
_LOGS = (_SYSLOG, _ISO_LOG, _SPACED_LOG)


def _find_logged_hosts(pattern: re.Pattern[str], text: str) -> Iterator[Found]:
    return (Found(*m.span(1), "host", certain=pattern is _SYSLOG) for m in pattern.finditer(text))


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


def searches(text: str, found: Sequence[Found], words: unknown.Words) -> Iterator[Iterator[Found]]:
    """One search behind the other over the whole of `text`, each nearly in its order; places overlap as they may.

    `found` is what the caller took from the searches so far: the last one leaves those places alone.
    """
    public = public_names(text)
    for search in chain(structure_searches(text), [_trim_all(unknown.find_unknown(text, found, words), text)]):
        yield (
            one for one in search if one.kind not in NAMES or not public or _join_neighbours(text, one).casefold() not in public
        )


_PUBLIC = regex(
    r"/(?:(?<=https:.)/(?:github|gitlab|codeberg|huggingface|hf|modelscope)\.(?:com|org|co|cn)/(?:datasets/|spaces/|models/)?[\w.<>-]{1,60}/(?P<repository>[\w.-]{2,100})"
    r"|(?<=[\w.>]/)(?P<image>[\w.-]{2,100}):(?:latest|main|nightly|stable|v\d[\w.-]*|\d+\.\d[\w.-]*|rocm[\w.-]*)(?![\w/]))"
)
_MODEL = regex(r"\.(?:gguf|safetensors|onnx|ckpt|pth?)(?!\w)")
_MODEL_NAME = regex(r"[\w.+-]{2,150}\Z")
_PART = regex(r"[-_.]")
_LONGEST_NAME = 150


def public_names(text: str) -> frozenset[str]:
    """What the repositories, images and model files that a text names are called, in lower case: whole, and beginnings and ends of two words
    and more. They are what a helper looks for, and no persons; who owns a repository may be one."""
    found: set[str] = set()
    names = [(match["repository"] or match["image"]).removesuffix(".git").rstrip(".") for match in _PUBLIC.finditer(text)]
    for end in _MODEL.finditer(text):
        if model := _MODEL_NAME.search(text[max(0, end.start() - 150) : end.start()]):
            names += [model[0], model[0] + end[0]]
    for name in map(str.casefold, names):
        joints = [joint.start() for joint in _PART.finditer(name)][:40]
        found |= {name, *(name[:at] for at in joints[1:]), *(name[at + 1 :] for at in joints[:-1])}
    return frozenset(found)


def _join_neighbours(text: str, found: Found) -> str:
    """A place with all that dots, hyphens and underscores join to it."""
    start, end = found.start, found.end
    while start and (text[start - 1].isalnum() or text[start - 1] in "._-") and found.start - start < _LONGEST_NAME:
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in "._-") and end - found.end < _LONGEST_NAME:
        end += 1
    return text[start:end].strip(".")


def structure_searches(text: str) -> Iterator[Iterator[Found]]:
    """The searches that know where names are, or what they look like."""
    low = lower(text)
    yield _trim_all(_rules().find(text, low), text)
    if not _MARKED.search(text):  # a report with 50,000 packages is made of such texts
        return
    yield _trim_all(fields.find_columns(text), text)
    yield _trim_all(secrets.private_keys(text), text)
    yield _trim_all(labels.find_labelled(text, low), text)
    for pattern in _LOGS:
        yield _trim_all(_find_logged_hosts(pattern, text), text)
    for kind, spans in _SHAPES:
        yield (Found(start, end, kind, remember=kind == "uuid") for start, end in spans(text))


def _trim_all(places: Iterable[Found], text: str) -> Iterator[Found]:
    return (trimmed for one in places if (trimmed := _trim(one, text)))


def find_hosts(text: str) -> Iterator[str]:
    """The hosts whose output `text` is: in prompts, journals, NCCL lines, `uname -a` and answers to `hostname`."""
    logged = (one for pattern in _LOGS for one in _find_logged_hosts(pattern, text))
    for found in _trim_all(chain(_host_rules().find(text, lower(text)), logged), text):
        if found.kind == "host":
            yield text[found.start : found.end]


def _trim(found: Found, text: str) -> Found | None:
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


class Search:
    """Known names, found in a text as words of their own and not as the keys of JSON."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_run: dict[str, dict[tuple[int, int], set[str]]] = {}
        for name in names:
            if run := RUN.search(name):
                lengths = self._by_run.setdefault(run[0], {})
                lengths.setdefault((run.start(), len(name)), set()).add(name)

    def find(self, text: str, limit: int) -> Iterator[tuple[int, int, str]]:
        """The places of each name up to `limit`: a short one is not a part of `my_name`, a long one is."""
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
