"""Words that are not known to be technical, nor words of a language: replaced unless what is around them is code.

Rules know where names are. This search knows what is no name: the vocabulary holds the words of the field, of its software and of
languages. Whatever else is written, a name, a login, a machine, a company, is replaced wherever it is. What is joined to something by a
hyphen, a dot, a slash, an underscore or a digit is part of an identifier, for which words of the field alone are known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction import technical
from rocm_doctor.redaction.around import tail
from rocm_doctor.redaction.compounds import unknown_compounds
from rocm_doctor.redaction.find import PSEUDONYM
from rocm_doctor.redaction.known import anonymous, distinctive, field_words, is_public, known, words
from rocm_doctor.redaction.rules import Found
from rocm_doctor.redaction.vocabulary import (
    FIELD,
    LONGEST,
    MOST,
    MOST_MISTAKES,
    RUN,
    SPOKEN,
    is_derived,
    is_misspelt,
    is_variant,
    known_to,
    runs,
)

_JOINTS = "-_./\\@:="


def unknown(text: str, found: Sequence[Found], words: Words) -> Iterator[Found]:
    """The words of `text` that are not known, without those of the places that were found already."""
    taken = _Taken(found)
    places = (_words(text, words), _hosts(text), unknown_compounds(text), _in_sentences(text, words.runs), _folders(text))
    for start, end, kind in chain.from_iterable(places):
        if (text[end : end + 1] == "<" and PSEUDONYM.match(text, end)) or (
            text[max(0, start - 1) : start] == "<" and PSEUDONYM.match(text, start - 1)
        ):
            continue  # `enx<mac-1>`, `<host-10>`
        if not taken.at(start, end) and (
            kind in ("host", "account") or end - start > LONGEST or not technical.is_around(text, start, end)
        ):
            yield Found(
                *(_whole_host(text, start, end) if kind == "word" else (start, end)),
                kind if kind in ("host", "account") else "name",
                learn=not (text[start].isupper() and _NUMBER_OF_A_PART.fullmatch(text, start, end)),
            )


_NUMBER_OF_A_PART = regex(r"[A-Z]{1,3}\d{5,8}")
"""What is one behind a label may stand in a serial number, too."""


MOST_STRANGE = 80_000
"""Distinct words that no list knows, in the long texts of one report. Replacing an eighth as many is all that one may cost."""
_STRANGE = {True: 1.0, False: 0.4}
"""What an unknown word counts by whether it is all letters: a long log numbers its requests."""
_BLOCK = 1 << 18
_GAP = regex(r"[\W_]")


class Words(NamedTuple):
    """The runs of a text: `runs` are all, `held` says who knows those that the field does not."""

    runs: set[str]
    held: dict[str, int]
    end: int
    """Where the text ends that is worth a search: what follows tens of thousands of unknown words is not."""
    strange: float
    """What the unknown ones count, in a long text."""


def readable(text: str, most: float) -> Words:
    """The words of a text, up to where the unknown ones of a long text count more than `most`."""
    found: set[str] = set()
    held: dict[str, int] = {}
    strange, begin = 0.0, 0
    while begin < len(text):
        gap = _GAP.search(text, begin + _BLOCK)
        end = gap.start() if gap else len(text)
        new = runs(text, begin, end) - found
        found |= new
        less = {run: known for run in new if (known := known_to(run)) < FIELD}
        held |= less
        if len(text) > _BLOCK:
            strange += sum(_STRANGE[run.isalpha()] for run, known in less.items() if not known)
        if strange > most:
            return Words(found, held, text.rfind("\n", 0, end) + 1, strange)
        begin = end
    return Words(found, held, len(text), strange)


Place = tuple[int, int, str]


def _words(text: str, words: Words) -> Iterator[Place]:
    known = words.held | {
        word: SPOKEN for word, held in words.held.items() if not held and word[0].isupper() and is_derived(word)
    }
    strange = [word for word, held in known.items() if not held and word.islower()]
    if len(strange) < MOST_MISTAKES:
        known |= {word: SPOKEN for word in strange if is_variant(word) or is_misspelt(word)}
    for run in RUN.finditer(text) if known else ():
        if run[0] in known and (known[run[0]] < SPOKEN or _is_joined(text, *run.span())) and not _is_after_escape(text, run):
            yield *run.span(), "word"


def _is_after_escape(text: str, run: re.Match[str]) -> bool:
    """Whether the first letter of a run is the end of a line, as JSON writes it: `\\nhipblaslt error`."""
    start = run.start()
    return text[start - 1 : start] == "\\" and run[0][0] in "nrt" and known_to(run[0][1:]) == FIELD


def _hosts(text: str) -> Iterator[Place]:
    return ((*host.span(1), "host") for host in _HOSTS.finditer(text) if not _is_public(host[1]))


_WHERE = regex(
    r"(?<![\w-])(on|from|by|via|at|host|node|server|machine|cluster|workstation|box|user|called|named) ([a-z]{4,16})"
    r"(?=[:,)?!;]|\.(?!\w)|$| (?:and|but|or|is|was|with|the|I|it|we|only|works|fails|does|has|had|hangs|crashes|runs|shows|at|for|in|after|before|while|when|where|which|since|today|yesterday|again|too|now|then|because|so|as|it's|you)\b)",
    re.M,
)
_FOLDER = regex(r"[/\\]((?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])[\w.-]{1,60})(?=[/\\]|\s|[\"'`:;,)]|$)", re.M)


def _in_sentences(text: str, words: set[str]) -> Iterator[Place]:
    """Words for a machine or a login that are common to no language of the field: `it hangs on eagle, and is fine`."""
    if not any(3 < len(word) < 17 and word.isalpha() and word.islower() and distinctive(word) for word in words):
        return iter(())
    return ((*m.span(2), "host") for m in _WHERE.finditer(text) if _may_name(m[2], m[1]))


def _may_name(name: str, preposition: str) -> bool:
    if name.endswith(("ing", "ed")):
        return False
    return (
        distinctive(name)
        and not anonymous("host", name)
        and (preposition not in ("by", "at", "from", "via") or name not in field_words())
    )


def _folders(text: str) -> Iterator[Place]:
    """Folders and files that are named in Chinese, Japanese or Korean."""
    return ((*m.span(1), "account") for m in _FOLDER.finditer(text))


_HOSTS = regex(r"://(?:[^\s/@<>\"']{1,200}@)?([A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?=[/:?#\s\"'<>)\],`]|$)", re.M)
_DOMAIN = regex(r"(?i:com|org|net|edu|gov|io|dev|local|lan|internal|corp|cluster|intranet|private|home|example|test|[a-z]{2})")
_FILES = frozenset((
    "py", "sh", "md", "so", "rs", "js", "ts", "cc", "hh", "pl", "db", "pt", "gz", "xz", "ps", "ko", "id", "in", "is", "it", "at",
    "me", "to", "my", "no", "co",
))  # fmt: skip


@lru_cache(MOST)
def _is_public(host: str) -> bool:
    """Whether the host of an address is one that everybody uses, or no name."""
    low = host.casefold()
    if "." not in low:
        return low in words() or low in known().accounts
    return is_public(low) or not any(c.isalpha() for c in low.split(".")[-1])


def _whole_host(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole name of the host that a word is part of: what is left of one would be taken for another."""
    if _ends_here(text[start - 1 : start]) and _ends_here(text[end : end + 1]):
        return start, end
    left = tail(text[max(0, start - 200) : start], _TO_LABEL).lstrip("._-")
    right = _RIGHT.match(text, end, end + 200)[0]  # type: ignore[index]
    if "." not in left and "." not in right:
        return start, end
    whole = start - len(left), end + len(right)
    labels = text[slice(*whole)].rstrip(".-").split(".")
    if (
        len(labels) > 1
        and all(labels)
        and _DOMAIN.fullmatch(labels[-1])
        and not (len(labels) == 2 and labels[-1] in _FILES)
        and "_" not in labels[0][:1]
    ):
        return whole[0], whole[0] + len(".".join(labels))
    return start, end


def _ends_here(neighbor: str) -> bool:
    return neighbor == "" or not (neighbor.isalnum() or neighbor in "._-")


_TO_LABEL, _RIGHT = regex(r"(?s:.*[^\w.-])?"), regex(r"(?:[\w.-]*\w)?")


def _is_joined(text: str, start: int, end: int) -> bool:
    """Whether a hyphen, a dot, a slash or the like joins a word to another."""
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    before = left[-1:] in _JOINTS and left != "" and (left[-1] in "/@\\_=" or left[:-1].isalnum())
    behind = right[:1] in _JOINTS and right != "" and (right[0] in "@\\_/" or right[1:].isalnum())
    return before or behind


class _Taken:
    """Places that are replaced anyway."""

    def __init__(self, found: Sequence[Found]) -> None:
        spans = sorted((f.start, f.end) for f in found)
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in spans:
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def at(self, start: int, end: int) -> bool:
        """Whether a place overlaps one of them."""
        number = bisect_right(self._starts, end - 1) - 1
        return number >= 0 and self._ends[number] > start
