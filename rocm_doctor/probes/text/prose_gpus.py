"""The GPUs that a person names: by product, gfx target, PCI id, code name, family or processor, and how many.

A name that fits several targets stays ambiguous: its candidates are kept, and the rest of the text narrows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Reading, Unknown
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.gpu_names import GpuNames

MOST = 16
"""GPUs of one text, and names read in one sentence."""
_TIMES = regex(r"(?:(?<!\d\.)\b(\d{1,2})\s?[x×]|\b(two|dual|pair of|three|four|six|eight|twin)|(?:^|\b(?:have|has|with|got|run|using|are)\s+|[:(]\s?)([2-8]))"
               r"\s+(?:(?:of|the|my|amd|radeon|instinct|identical|gpus?:?)\s+)*$|(?<!\d\.)\b(\d{1,2})[x×]$", re.I)  # fmt: skip
_BEHIND = regex(r"(?:\s+graphics)?\s*(?:\(?\s?[x×]\s?(\d{1,2})\b(?!\s?(?:gb|gib|cm|mm))|\s?\(?(\d) (?:cards|gpus)\b)", re.I)
_COUNTS = {"two": 2, "dual": 2, "pair of": 2, "twin": 2, "three": 3, "four": 4, "six": 6, "eight": 8}
_GFX = regex(r"\bgfx(?:([19][0-9]{1,2})[xX]|(?!000)(?:[6-9][0-9a-f]{2}|1[0-9]{3}))(?![0-9a-fA-F])"
             r"|(?<=[_:])gfx(?:[6-9][0-9a-f]{2}|1[0-9]{3})(?![0-9a-fA-F])")  # fmt: skip
_PCI = regex(r"\b1002:([0-9a-f]{4})\b", re.I)
_INSIDE = regex(r"[\w/.+=_'\"-]$")
_CONTINUED = regex(r"[\w/_]|-\w|\.\w")
_AS_IF = regex(
    r"\b(?:as|like|not|instead of|than|(?:spoof|pretend|overr|treat|fak)\w*(?: it)?(?: to| with)?(?: be)?)\s+(?:an?\s+)?$", re.I
)
"""Before a target that the GPU is driven as."""
_LISTED = regex(
    r"\b(?:files?|kernels?|built|compiled|support(?:ed|s)|listed|targets?|arch(?:itectures?|s|_list)?|includes?|wheels?)\b|\[\s*['\"]gfx",
    re.I,
)
"""A sentence in which several targets are those of a build or a table."""
_AND_LATER = regex(r"\+(?![\w.])|[\s-]*(?:series|class)?\s*(?:and|or) (?:newer|later|above|up)\b", re.I)
"""Behind a name that means a requirement (`MI300+`) and not a GPU of the machine."""
_BESIDE = regex(r"[\s(,;:=/-]*(?:target|arch|isa)?[\s(:=]*$", re.I)
"""Between a product and the target that a person gives for it: `Radeon 8060S (gfx1100)`."""
_JOINED = regex(
    r"\s*(?:\+|&|and|plus|,|as well as|together with|with an?)\s*(?:(?:an?|the|my|amd|radeon|rx|instinct|one|another)\s*)*", re.I
)
_KINDS = ("name", "gfx", "pci", "codename", "processor", "family")


class Sentence(NamedTuple):
    """A sentence, or a line of output: its text without emphasis marks, and its reading."""

    text: str
    reading: Reading


class Mention(NamedTuple):
    """A GPU named in a sentence. `is_device`: as a device, not inside a path, a package or a setting."""

    gfx: tuple[str, ...]
    kind: str
    words: str
    times: int
    sentence: Sentence
    start: int
    is_device: bool = True


class Group(msgspec.Struct):
    """Mentions of one GPU, the targets that all of them allow, and targets that contradict the product."""

    gfx: tuple[str, ...]
    mentions: list[Mention]
    count: int = 1
    disputed: list[Mention] = []


def record_gpus(result: ProbeResult, text: Iterable[Sentence], names: GpuNames) -> None:
    """A listing of the GPUs that the text names."""
    found = [mention for sentence in text for mention in _mentions(sentence, names)]
    groups = _groups([one for one in found if one.is_device]) or _groups(found)
    if groups:
        listing = result.listing(complete=False)
        for group in groups[:MOST]:
            for _ in range(group.count):
                _describe(result, group, listing.gpu())


def _mentions(sentence: Sentence, names: GpuNames) -> Iterator[Mention]:
    text, low = sentence.text, sentence.text.lower()
    for one in names.find(text)[:MOST]:
        if not _AND_LATER.match(text, one.end):
            yield Mention(one.gfx, one.kind, one.text, read_count(text, one.start, one.end), sentence, one.start)
    targets = {hit[0].lower(): hit for hit in reversed(list(_GFX.finditer(text)))} if "gfx" in low else {}
    for hit in reversed(targets.values()) if len(targets) <= (1 if _LISTED.search(text) else 3) else ():
        known = _family(hit[1], names) if hit[1] else (hit[0].lower(),)
        if known and not _AS_IF.search(text[max(0, hit.start() - 40) : hit.start()]):
            device = not _INSIDE.search(text[: hit.start()][-1:]) and _CONTINUED.match(text, hit.end()) is None
            yield Mention(known, "gfx", hit[0], read_count(text, *hit.span()), sentence, hit.start(), device)
    for pci in _PCI.finditer(text) if "1002:" in low else ():
        if known := names.targets_by_pci(int(pci[1], 16)):
            yield Mention(known, "pci", pci[0], 1, sentence, pci.start())


def read_count(text: str, start: int, end: int) -> int:
    """The number of GPUs named in text[start:end], from the words around it (MOST at most): `8x`, `two`, `x4`."""
    if behind := _BEHIND.match(text, end):
        return min(MOST, int(behind[1] or behind[2]))
    before = _TIMES.search(text[max(0, start - 40) : start])
    if before is None:
        return 1
    return _COUNTS[before[2].lower()] if before[2] else min(MOST, int(before[1] or before[3] or before[4]))


def _family(digits: str, names: GpuNames) -> tuple[str, ...]:
    """All targets of the catalog with this prefix: gfx110x is gfx1100 to gfx1103."""
    known = {gfx for entry in names.entries.values() for gfx in entry.gfx}
    return tuple(sorted(gfx for gfx in known if gfx.startswith("gfx" + digits) and len(gfx) == len(digits) + 4))


def _groups(mentions: list[Mention]) -> list[Group]:
    """Mentions by GPU. Exact names make the groups; code names, families and processors only narrow them, or are a group alone."""
    groups: list[Group] = []
    for one in sorted(mentions, key=lambda one: _KINDS.index(one.kind) > 2):
        last = groups[-1].mentions[-1] if groups else None
        group = next((group for group in groups if set(group.gfx) & set(one.gfx) and not _are_two(group, one)), None)
        if group is not None:
            group.gfx = tuple(gfx for gfx in group.gfx if gfx in one.gfx)
            group.mentions.append(one)
            group.count = max(group.count, one.times)
        elif last and (last.kind, one.kind) == ("name", "gfx") and _gives_target(last, one):
            groups[-1].disputed.append(one)
        else:
            groups.append(Group(one.gfx, [one], max(1, one.times), []))
    return groups


def _are_two(group: Group, one: Mention) -> bool:
    """True for `6900xt + 6800xt`: products of one target, joined in a sentence."""
    last = group.mentions[-1]
    between = one.sentence.text[last.start + len(last.words) : one.start]
    return (last.kind, one.kind) == ("name", "name") and last.sentence is one.sentence and _JOINED.fullmatch(between) is not None


def _gives_target(name: Mention, target: Mention) -> bool:
    """True if a sentence gives the target for the product."""
    between = name.sentence.text[name.start + len(name.words) : target.start]
    return name.sentence is target.sentence and _BESIDE.fullmatch(between) is not None


def _describe(result: ProbeResult, group: Group, gpu: dict[str, Fact]) -> None:
    best = min(group.mentions, key=lambda one: _KINDS.index(one.kind))
    reading = best.sentence.reading
    if best.kind == "name":
        result.record("marketing_name", best.words, reading, gpu)
    elif best.kind == "family":
        result.record("family", re.sub(r"\s", "", best.words).upper(), reading, gpu)
    for one in group.mentions:
        if one.kind == "pci":
            result.record("device_id", int(one.words[-4:], 16), one.sentence.reading, gpu)
    if len(group.gfx) != 1:
        result.record("gfx", Unknown("ambiguous", f"`{best.words}` fits several targets; run rocminfo", group.gfx), reading, gpu)
        return
    result.record("gfx", group.gfx[0], reading, gpu)
    for one in group.disputed:
        result.record("gfx", one.words.lower(), one.sentence.reading, gpu)
