"""Default-deny: a word that no list knows is replaced where a name may stand, unless what is around it is code.

Rules know where names are. This search knows what is not a name. A word with a capital, with a digit, or joined to something by a hyphen, a dot,
a slash or an underscore may be a login, a machine or a company wherever it is; what is joined is part of an identifier, for which words of the
field alone are known. A lower-case word by itself is a name only where a sentence names a machine or a login.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.context import is_software
from rocm_doctor.redaction.known import is_anonymous, is_distinctive, is_public, load_known
from rocm_doctor.redaction.rules import PSEUDONYM, RedactedPlace
from rocm_doctor.redaction.vocabulary import (
    FIELD,
    LONGEST,
    MOST,
    SPOKEN,
    blocks,
    find_runs,
    is_sentence,
    runs,
    vocabulary_level,
    wordset,
)

Place = tuple[int, int, str]
_JOINTS = "-_./\\@:="
_LINE = 240
"""Characters before and behind a word that its line is looked at for."""
_NUMBER_OF_A_PART = regex(r"[A-Z]{1,3}\d{5,8}")
"""What is one behind a label may stand in a serial number, too."""


def find_unknown(text: str, found: Sequence[RedactedPlace], words: UnknownWords) -> Iterator[RedactedPlace]:
    """The words of `text` that are not known, without those of the places that were found already."""
    taken = bytearray(len(text))
    for one in found:
        taken[one.start : one.end] = b"\1" * (one.end - one.start)
    for start, end, kind in chain(
        _unknown_words(text, words), _hosts(text), _compounds(text), _names_in_sentences(text), _folders(text)
    ):
        pseudonym = (text.startswith("<", end) and PSEUDONYM.match(text, end)) or (
            text.startswith("<", start - 1) and PSEUDONYM.match(text, start - 1)
        )
        if pseudonym or 1 in taken[start:end]:  # `enx<mac-1>`, `<host-10>`
            continue
        if kind == "host" or end - start > LONGEST or not is_software(text, start, end):
            remember = not (text[start].isupper() and _NUMBER_OF_A_PART.fullmatch(text, start, end))
            yield RedactedPlace(start, end, kind if kind == "host" else "name", remember=remember)


MOST_UNKNOWN = 80_000
"""Distinct words that no list knows, in the long texts of one report. Replacing an eighth as many is all that one may cost."""
_UNKNOWN_WEIGHT = {True: 1.0, False: 0.4}
"""What an unknown word counts by whether it is all letters: a long log numbers its requests."""


_LONG = 1 << 18
"""Characters of a text from which its unknown words count."""


class UnknownWords(NamedTuple):
    """The runs of a text that the field does not know, with who knows each (vocabulary_level)."""

    levels: dict[str, int]
    end: int
    """Where the text ends that is worth a search: what follows tens of thousands of unknown words is not."""
    unknown_weight: float
    """What the unknown ones count, in a long text."""


def weigh_words(text: str, most: float) -> UnknownWords:
    """The words of a text, up to where the unknown ones of a long text count more than `most`."""
    found: set[str] = set()
    levels: dict[str, int] = {}
    unknown_weight = 0.0
    for begin, end in blocks(text, len(text)):
        unseen = runs(text, begin, end) - found
        found |= unseen
        unfamiliar = {run: known for run in unseen if (known := vocabulary_level(run)) < FIELD}
        levels |= unfamiliar
        if len(text) > _LONG:
            unknown_weight += sum(_UNKNOWN_WEIGHT[run.isalpha()] for run, known in unfamiliar.items() if not known)
        if unknown_weight > most:
            return UnknownWords(levels, text.rfind("\n", 0, end) + 1, unknown_weight)
    return UnknownWords(levels, len(text), unknown_weight)


def _unknown_words(text: str, words: UnknownWords) -> Iterator[Place]:
    for start, run in find_runs(words.levels, text, len(text)):
        end = start + len(run)
        if _is_after_escape(text, start, run):
            continue
        lower = run.islower() and run.isalpha()
        in_prose = words.levels[run] == SPOKEN or (lower and _is_in_prose(text, start, end))
        if not in_prose or _is_joined(text, start, end):
            yield start, end, "word"


_SHORTEST = 5
"""Letters of a lower-case word that may be a login or a machine: shorter ones are most often columns and options."""


def _is_in_prose(text: str, start: int, end: int) -> bool:
    """Whether a lower-case word is one of a sentence, where it is seldom a name, and not in a row that a program printed."""
    begin = text.rfind("\n", max(0, start - _LINE), start) + 1
    return end - start < _SHORTEST or is_sentence(text[max(begin, start - _LINE) : end + _LINE].partition("\n")[0])


def _is_joined(text: str, start: int, end: int) -> bool:
    """Whether a hyphen, a dot, a slash or the like joins a word to another."""
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    before = left[-1:] in _JOINTS and left != "" and (left[-1] in "/@\\_=" or left[:-1].isalnum())
    behind = right[:1] in _JOINTS and right != "" and (right[0] in "@\\_/" or right[1:].isalnum())
    return before or behind


def _is_after_escape(text: str, start: int, run: str) -> bool:
    """Whether the first letter of a run is the end of a line, as JSON writes it: `\\nhipblaslt error`."""
    return text[start - 1 : start] == "\\" and run[0] in "nrt" and vocabulary_level(run[1:]) == FIELD


_HYPHENED = regex(r"(?<![\w.-])[A-Za-z0-9]{1,60}(?:-[A-Za-z0-9]{1,60})+(?![\w-])")
_MACHINES = wordset(
    "backup blade box cluster cn db gateway gw kube laptop login nas node pc pod prod rack rig runner spine srv staging station store tor vm worker workstation ws"
)
_NO_MACHINES = wordset(
    "cross-node find-db in-box in-node k8s-device-plugin kube-system miopen-db miopen-find-db mini-pc multi-node node-feature-discovery node-hours node-labeller node-local"
    " node-n node-problem-detector one-node per-node re-login single-node two-node total-vm border-box box-sizing self-hosted-runner"
)
"""Words that hyphens join, with a word for a machine in them, that name none."""
_CASE = regex(
    r"(?!CVE|GHSA|ISO|PEP|RFC|ROCM|SWDEV|UTF)[A-Z]{2,5}\d?(?:-[A-Z]{2,5})?-(?:\d{4}-)?\d{4,8}(?:-\w{1,4})?|\d{4,8}(?:-[A-Z]{2,12}){1,3}"
)
_PADDED = regex(r"[A-Za-z][A-Za-z0-9-]*-0\d")


def _compounds(text: str) -> Iterator[Place]:
    """Numbers of cases, and machines that are called by words of the field: `CS-4471-90833`, `mi-node-02`, `plum-prod`."""
    return ((*m.span(), "compound") for m in _HYPHENED.finditer(text) if _names_one(m[0]))


@lru_cache(MOST)
def _names_one(compound: str) -> bool:
    low = compound.casefold()
    if _CASE.fullmatch(compound) or _PADDED.fullmatch(compound):
        return True
    parts = [part.rstrip("0123456789") or part for part in low.rstrip("0123456789").rstrip("-").split("-")]
    return (
        len(parts) > 1
        and not _MACHINES.isdisjoint(parts)
        and "-".join(parts) not in _NO_MACHINES
        and all(map(str.isascii, parts))
    )


_WHERE = regex(
    r"(?<![\w-])(on|from|by|via|at|as|is|host|node|server|machine|cluster|workstation|box|rig|room|laptop|desktop|user|called|named) [(`]?([a-z]{4,16})"
    r"(?=[:,)?!;`]|\.(?!\w)|$| (?:and|but|or|is|was|with|the|I|it|we|only|works|fails|does|has|had|hangs|crashes|runs|shows|at|for|in|after|before|while|when|where|which|since|today|yesterday|again|too|now|then|because|so|as|it's|you)\b)",
    re.M,
)


def _names_in_sentences(text: str) -> Iterator[Place]:
    """Lower-case words for a machine or a login, where a sentence names one: `it crashed on eagle, and is fine`."""
    return ((*m.span(2), "host") for m in _WHERE.finditer(text) if _may_name(m[2], m[1]))


def _may_name(name: str, preposition: str) -> bool:
    if name.endswith(("ing", "ed")) or not is_distinctive(name) or is_anonymous("host", name):
        return False
    return vocabulary_level(name) < (SPOKEN if preposition in ("as", "at", "by", "from", "is", "via") else FIELD)


_FOLDER = regex(r"(?:[/\\]|(?<!>)_)((?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])\w{2,60})(?=[/\\.]|\s|[\"'`:;,)]|$)", re.M)


def _folders(text: str) -> Iterator[Place]:
    """Folders and files that are named in Chinese, Japanese or Korean."""
    return ((*m.span(1), "word") for m in _FOLDER.finditer(text)) if not text.isascii() else iter(())


_URL_HOST = regex(r"://(?:[^\s/@<>\"']{1,200}@)?([A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?=[/:?#\s\"'<>)\],`]|$)", re.M)


def _hosts(text: str) -> Iterator[Place]:
    """Hosts of addresses that are not public: each of their words may be an ordinary one."""
    return ((*host.span(1), "host") for host in _URL_HOST.finditer(text) if not _is_public(host[1]))


@lru_cache(MOST)
def _is_public(host: str) -> bool:
    """True if everybody uses the host of an address, or if it is not a name but numbers or a word of the field."""
    low = host.casefold()
    if "." not in low:
        return (low.isalpha() and vocabulary_level(low) == FIELD) or low in load_known().accounts
    return is_public(low) or not any(c.isalpha() for c in low.split(".")[-1])
