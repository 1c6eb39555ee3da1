"""A person's text, split into sentences and clauses, and the stance of a clause on a thing named in it: works, fails, was.

Grammar only: how people phrase such statements about any software.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document

HEAD, TAIL = 96_000, 32_000
"""Characters read at the start and at the end of a text: people write around the log, not in the middle of it."""
LONGEST = 4_000
ALIKE = 20

Stance = Literal["plain", "broken", "works", "past", "elsewhere", "maybe"]

_SENTENCE = regex(r"(?<=[.!?])[\"')`*]{0,3}\s+(?=[\"'(`*]{0,3}\w)|;\s+")
_ABBREVIATED = regex(r"(?:\b(?:e\.g|i\.e|vs|etc|no|approx|ver|incl|ca|resp|cf|v)|\.\.)\.$", re.I)
_EXAMPLE = regex(r"\((?:e\.g\.|for example|such as)[^()]{0,120}\)", re.I)
_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_MARKS = str.maketrans("*`|\u2022", "    ")
_AUTHOR = regex(r"\W{0,6}@?([\w-]{1,39})\W{1,6}(?:commented|wrote|replied|posted|answered)\b")
_ME_TOO = regex(
    r"\W{0,4}(?:same (?:issue|problem|error|here|thing|behaviou?r)|me too|\+1\b|i (?:also )?have the same|i can confirm"
    r"|also (?:happening|seeing))",
    re.I,
)
_HEADING = regex(
    r"\s*#{0,6}\s*(?:your |system )?(?:operating system(?: version)?|os(?: version)?|distro|distribution|rocm(?: version)?"
    r"|python(?: version)?"
    r"|(?:linux )?kernel(?: version)?|(?:py)?torch(?: version)?"
    r"|(?:amdgpu |gpu )?driver(?: version)?|adrenalin(?: version)?|hip sdk(?: version)?|gpu|gpu model|graphics card|hardware"
    r"|cpu)\s*:?\s*$",
    re.I,
)
_CLAUSE = regex(
    r"[.!?]\s+(?-i:(?=[A-Z`]))|,\s+(?!\d{1,2}(?:st|nd|rd|th)\b)"
    r"|\s+(?:that|which)\s+(?=(?:did|does|do|was|were|is|works?|worked|never)\b)|\s+(?:but|while|whereas|although|though|however|yet|and then)\s+|\s[-–—]{1,2}\s|:\s+"
    r"|\s+and\s+(?=(?:it|that|this|they|then|with|on|in|since|fails?|breaks?|broke|crash\w*|works?|the|now|also)\b)",
    re.I,
)
_LABEL = regex(
    r"\W{0,6}(?:(not working|broken|fails?|failing|bad|crash(?:es|ing)?|does(?:n't| not) work|affected|regressed|first bad)"
    r"|(working|works?|good|ok|fine|unaffected|last (?:known )?(?:good|working)))"
    r"(?: (?:versions?|release|build|config\w*|combination|setup|env\w*|with|on|in|stack|commit|wheels?)){0,2}\s?[:=]\s",
    re.I,
)
_SAYS = regex(
    r"\s{0,9}(?:[:=(→]|->|=>|[-–—]\s|(?<=\s\s))\s{0,9}(?:(broken|fail(?:s|ed|ure)?|crash(?:es|ed)?|seg-?fault\w*|hangs?|freezes?|bad|nans?|wrong"
    r"|not ok|not working|does(?:n't| not) work|❌|✗)|(works?|working|ok(?:ay)?|good|fine|pass(?:es|ed)?|stable|✅|✓))(?![\w-])",
    re.I,
)
_BACK_TO = regex(
    r"\b(?:revert\w*|downgrad\w*|roll\w* back|(?:went|going|go|switch\w*|mov\w*) back|boot\w* (?:the )?(?:old\w*|previous))"
    r"\s+(?:\w+\s+){0,3}?(?:to\s+)?(?:\w+[\s-]+){0,2}$",
    re.I,
)
_SINCE = regex(
    r"\b(?:since(?: the)?|starting (?:with|from|in)|as of|beginning with|(?:bug|regression|error|problem|issue|failure)s? (?:on|in|with|since)"
    r"|(?:after|since) (?:the |an? |my |i )?(?:updat|upgrad|mov|switch)\w*(?:\s+\w+){0,3}?\s+to)"
    r"\s+(?:\w+[\s-]+){0,2}$",
    re.I,
)
_WORSE_THAN = regex(r"\b(?:slower|worse|fewer|lower|less)\b[^.!?]{0,110}\bthan\s+(?:\w+\s+){0,3}$", re.I)
_NEWER_THAN = regex(r"\b(?:newer|later|higher) than\s+(?:\w+\s+){0,2}$", re.I)
"""What is worse than a version, or fails in a newer one than it, was right in that version."""
_AND = regex(r"\s+(?:and|or)\s", re.I)
_BROKEN = regex(
    r"(?<!\bno )(?<!\bwithout )(?<!\bnever )"
    r"\b(?:break(?:s|ing)?|broken?|fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed|ing|-loops?)?|seg-?fault\w*|segmentation fault"
    r"|hangs?|hung|freezes?|froze"
    r"|regress\w*|nonsense|garbage|gibberish|blank|black (?:image|screen)\w*|wrong|errors? out|throws?|raises?|aborts?|dies"
    r"|dumps? core|stuck"
    r"|(?:does|did|do|is|are|was|were|will|would|could|can|has|have)(?:n't|n’t| not| no longer| never) (?:\w+ )?(?:work\w*"
    r"|run\w*|load\w*|start\w*|detect\w*|see|find"
    r"|recogni[sz]e\w*|support\w*|possible|able|usable|compile|build|boot|train|help)|cannot|can't|can’t|unable|no longer"
    r"|not working|stop(?:s|ped) working|unusable"
    r"|impossible|(?:it|this|that|problem|issue|crash|error|bug) (?:also |only |still )?(?:happens|occurs|appears)"
    r"|(?:is|are) (?:(?:very|much|extremely) )?(?:ignored|refused|rejected|slow|slower)|NaNs?\b|slower|refuses?|lose|lost|loses)\b",
    re.I,
)
_WORKS = regex(
    r"\b(?:works?|worked|working|never (?:had|saw|happen\w*|occur\w*)|could (?:\w+ )?(?:see|use|run|load|train|generate)|(?:is|was|were) (?:\w+ )?faster"
    r"|runs? fine|ran fine|(?:is|was|are|were|being) (?:all )?(?:fine|ok|okay|good|right|correct"
    r"|not affected)|fine(?![\s-]?tun)|no (?:such )?(?:problem|issue|error|failure|crash|fault|hang|freeze|reset)(?:s|es)?"
    r"|without (?:any )?(?:crash|fail|hang|error|problem|issue)\w*"
    r"|succe(?:ss\w*|eds?)|complete[sd]|finishe[sd]|pass(?:es|ed)|did not|didn't|unaffected|no longer happens|fix(?:ed|es)|solve[sd]"
    r"|resolve[sd]|cure[sd]|helps|helped|(?:is|are|was) gone|disappear(?:s|ed)|stable"
    r"|go(?:es)? away|went away|correct(?:ly)?)\b",
    re.I,
)
_PAST = regex(
    r"\b(?:previous(?:ly)?|earlier|former(?:ly)?|in (?:my|the) (?:old|previous|past)|used to (?:have|use|run|be)"
    r"|before (?:that|the (?:update|upgrade))"
    r"|upgraded from|(?:updated|updating|upgrading|coming|migrated|switched|moved|changed|replaced) (?:\w+ ){0,3}from"
    r"|downgraded from|originally|older|it was)\b",
    re.I,
)
_ELSEWHERE = regex(
    r"\b(?:(?:an?|my|the|on)?\s*(?:other|another|second|different) (?:machine|computer|pc|laptop|notebook|system|box|rig"
    r"|server|host|workstation|desktop|user|person)"
    r"|(?:friend|colleague|coworker|brother)(?:'s|s|’s)?|someone else|nvidia hardware|(?:on|under|with|in) (?:windows"
    r"|linux) (?:\d+ )?(?:it|both|everything|the same|all)"
    r"|\b(?:a|an|one|some) (?:user|person|owner)s? (?:with|who|has|have|on)\b|some(?:one|body) (?:reported|wrote|has|had|with|said)|reported (?:for|on|by) an?"
    r"|dual[- ]boot\w*|same (?:issue|problem|error|thing|here|behaviou?r)\b.{0,40}\b(?:on|with)\b|other people"
    r"|(?:all |many |some )?(?:the )?others? (?:have|report|with|who|on)\b|other (?:users|owners)|(?:some(?:one|body)|people|users|owners|anyone|anybody)"
    r" (?:else )?with|of (?:our|my) (?:users|customers|colleagues))",
    re.I,
)
_MAYBE = regex(
    r"(?:\b(?:require[sd]?|need(?:s|ed)?|support(?:s|ed)?(?: for| on| in| by)?|wait(?:ing)? for|instead of|unlike|until"
    r"|compatible with|prior to|before|older than"
    r"|newer than|later than|than|at least|minimum|upcoming|planned|docs? (?:for|of|says?)|documentation (?:for|of|says?)"
    r"|according to|says|available (?:for|in|with)"
    r"|should (?:i )?(?:use|install|try)|would|recommend(?:s|ed)?|only for|meant for|intended for|(?:built|compiled) (?:for|against)|wants?|tried"
    r"|trying|expect(?:s|ed|ing)?|not|no(?: \w+)?)"
    r"(?:\s+(?:to|use|the|a|an|with|on|for|in|have|is|version|of|by|only))*\s*$)",
    re.I,
)
_OR_LATER = regex(
    r"(?:\+(?![\w.])|\s+(?:or|and) (?:later|newer|higher|above|greater|up|older|below|earlier|lower)\b|-?x?-?compatible|[^()\n]{0,40}\(you have\b"
    r"|\s+(?:is |are |being )?(?:needed|required|recommended|supported|necessary)\b)",
    re.I,
)


NEGATED = regex(
    r"\b(?:no|not|without|never|outside|isn't|non-|instead of|rather than|unlike)\s+(?:(?:\w+|<\w+-\d+>)\s+){0,3}$", re.I
)
"""Matches at the end of the words before a thing that is said to be absent."""


class Sentence(NamedTuple):
    """One sentence (or line of output): its text without emphasis marks, its line number from 1, and its document.

    `other`: written by another person than the first writer, about another machine.
    """

    text: str
    number: int
    document: Document
    other: bool = False

    @property
    def reading(self) -> Reading:
        """The reading of the sentence."""
        return Reading(self.document.name, f"line {self.number}", " ".join(self.text.split())[:200])

    def stance(self, start: int, end: int) -> Stance:
        """The stance on the thing at text[start:end]; other writers' sentences are about another machine."""
        return "elsewhere" if self.other else stance(self.text, start, end)


def sentences(document: Document) -> list[Sentence]:
    """The sentences of the text's first and last part, in order. Lines that differ only in digits are kept at most ALIKE times."""
    found: list[Sentence] = []
    reporter, heading, other = "", "", False
    shapes: Counter[str] = Counter()
    for number, line in lines(document.text):
        shape = line[:LONGEST].translate(_DIGITS)
        shapes[shape] += 1
        if shape and shapes[shape] > ALIKE:
            continue
        author = _AUTHOR.match(line[:120])
        if author:
            reporter = reporter or (author.group(1) if not found else "the first writer")
            other = author.group(1) != reporter
        text = _EXAMPLE.sub(" ", line[:LONGEST].translate(_MARKS))
        aside = other or (bool(found) and _ME_TOO.match(text) is not None)
        found += [Sentence(part, number, document, aside) for part in _split(heading + text) if part.strip()]
        if text.strip():
            heading = f"{text.strip(' #:_')}: " if _HEADING.match(text.strip()[:80]) else ""
    return found


def lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the text's first and last part."""
    if len(text) <= HEAD + TAIL:
        yield from enumerate(text.split("\n"), 1)
        return
    yield from enumerate(text[:HEAD].split("\n"), 1)
    start = text.find("\n", len(text) - TAIL) + 1 or len(text) - TAIL
    yield from enumerate(text[start:].split("\n"), 1 + text.count("\n", 0, start))


def _split(line: str) -> Iterator[str]:
    place = 0
    for gap in _SENTENCE.finditer(line):
        if gap.group(0)[0] == ";" or not _ABBREVIATED.search(line, max(0, gap.start() - 8), gap.start()):
            yield line[place : gap.start()]
            place = gap.end()
    yield line[place:]


def clause_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The start and end of the clause that holds text[start:end], 300 characters away at most."""
    first, stop = max(0, start - 300), min(len(text), end + 300)
    for gap in _CLAUSE.finditer(text, first, stop):
        if gap.end() <= start:
            first = gap.end()
        elif gap.start() >= end:
            return first, gap.start()
    return first, stop


def stance(text: str, start: int, end: int) -> Stance:
    """The stance of the clause around text[start:end] on the thing there.

    A label decides for its line (`Working: 6.1`), and a word right behind for the thing (`6.1: works`). A clause without a verb
    shares that of the clause that `and` joins to it (`with 6.1 and with 6.2 it fails`).
    """
    label = _LABEL.match(text[:80])
    if label and label.end() <= start:
        return "broken" if label.group(1) else "works"
    says = _SAYS.match(text, end)
    if says:
        return "broken" if says.group(1) else "works"
    first, stop = clause_around(text, start, end)
    clause = text[first:stop]
    if _AND.match(text, stop) and not _BROKEN.search(clause) and not _WORKS.search(clause):
        clause += text[stop : clause_around(text, stop + 5, stop + 6)[1]]
    before = text[max(first, start - 60) : start]
    if _WORSE_THAN.search(text[max(0, start - 160) : start]) or (_NEWER_THAN.search(before) and _BROKEN.search(clause)):
        return "works"
    if _MAYBE.search(before) or _OR_LATER.match(text, end):
        return "maybe"
    if _ELSEWHERE.search(clause):
        return "elsewhere"
    broken, works = _BROKEN.search(clause), _WORKS.search(clause)
    if _BACK_TO.search(before) and not broken:
        return "works"
    if _SINCE.search(before) and not works:
        return "broken"
    if works and re.search(r"\bonly\b", clause[: works.start() + 12], re.I) and not broken:
        return "works"
    if broken:
        return "broken"
    if works:
        return "works"
    return "past" if _PAST.search(text[max(0, start - 60) : start]) else "plain"
