"""The GPUs that a person names: by product, gfx target, PCI id, code name, family or processor; how many; which of them works.

A name that fits several targets stays ambiguous: its candidates are kept, and the rest of the text narrows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Unknown
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.gpu_names import GpuNames, Mention
from rocm_doctor.probes.text.prose_text import Sentence, Stance, stance

MOST = 16
_BEFORE_COUNT = regex(
    r"(?:\b(\d{1,2})\s?[x×]?|\b(two|dual|pair of|three|four|six|eight|both|twin))\s*(?:(?:of|the|my|amd|radeon|instinct"
    r"|identical|gpus?:?)\s*)*$",
    re.I,
)
_CARDS = regex(r"\s*(?:gpus|cards|accelerators|devices)\b", re.I)
_OWNED = regex(r"(?:^|\b(?:have|has|with|got|own|run|running|using|are)\s+|[:(]\s?)[2-8]\s+(?:amd |radeon )*$", re.I)
_AFTER_COUNT = regex(r"(?:\s+graphics)?\s*(?:\(?\s?[x×]\s?(\d{1,2})\b(?!\s?(?:gb|gib|cm|mm))|\s?\(?(\d) (?:cards|gpus)\b)", re.I)
_COUNTS = {"two": 2, "dual": 2, "pair of": 2, "twin": 2, "both": 1, "three": 3, "four": 4, "six": 6, "eight": 8}


def count_at(text: str, start: int, end: int) -> int:
    """The number of GPUs named in text[start:end], from the words around it (MOST at most): `8x`, `two`, `x4`."""
    after = _AFTER_COUNT.match(text, end)
    if after:
        return int(after.group(1) or after.group(2))
    before = _BEFORE_COUNT.search(text[max(0, start - 40) : start])
    if before is None:
        return 1
    number = before.group(1)
    if number and _CARDS.match(text, end):
        return min(int(number), MOST)
    if number and _OWNED.search(text[max(0, start - 60) : start]):
        return min(int(number), MOST)
    if number:
        return int(number) if re.search(r"[x×]\s*(?:\w+\s*)*$", before.group(0)) or before.group(0).strip() != number else 1
    return _COUNTS[before.group(2).lower()]


_GFX = regex(
    r"\bgfx(?:([19][0-9]{1,2})[xX]|(?!000)(?:[6-9][0-9a-f]{2}|1[0-9]{3}))(?![0-9a-fA-F])|(?<=[_:])gfx(?:[6-9][0-9a-f]{2}"
    r"|1[0-9]{3})(?![0-9a-fA-F])"
)
_INSIDE = regex(r"[\w/.+=_'\"-]$")
_WITHIN = regex(r"[\w/_]|-\w|\.\w")
_PCI = regex(r"\b1002:([0-9a-f]{4})\b", re.I)
_AS_IF = regex(
    r"\b(?:as(?: an?)?|like|not(?: for| an?| the)?|instead of|than|spoof\w*(?: as)?|pretend\w*(?: to be)?|override(?:s"
    r"|n)?(?: it)?(?: to| with)?|treated as|fak\w+)\s+(?:an?\s+)?$",
    re.I,
)
_PAST = regex(
    r"\b(?:(?:upgraded|switched|moved|changed|coming|came|migrated|swapped) from|replaced|instead of|unlike|sold|had"
    r"|compared (?:to|with))\s+(?:my |the |an? |old )*(?:amd |radeon )*$",
    re.I,
)
_LISTED = regex(
    r"\b(?:files?|kernels?|built|compiled|supported|supports|listed|targets?|arch(?:itectures?|s|_list)?|only for|includes?"
    r"|wheels?)\b",
    re.I,
)
_JOINED = regex(
    r"^\s*(?:\+|&|and|plus|,|as well as|together with|with an?)\s*(?:(?:an?|the|my|amd|radeon|rx|instinct|one|another)\s*)*$",
    re.I,
)
_AND_LATER = regex(r"\+(?![\w.])|[\s-]*(?:series|class)?\s*(?:and|or) (?:newer|later|above|up)\b", re.I)
"""Behind a name that stands for a requirement (`MI300+`) and not for a GPU of the machine."""
_NVIDIA = regex(
    r"\b((?:RTX|GTX)\s?(?:PRO\s)?(?:A)?\d{3,4}(?:\s?(?:Ti|Super))?|Tesla [A-Z]\d{1,3}|(?<![\w-])[AH][12]00\b|GeForce \w+)"
)
_IGPU = regex(r"\b(?:igpu|integrated (?:gpu|graphics|one|card)|onboard graphics|apu)\b", re.I)
_DISABLED = regex(r"\b(?:disabled?|turned off|switched off|deactivated|off in (?:the )?bios|no igpu)\b", re.I)


class Named(NamedTuple):
    """One mention of a GPU. `strong`: as a device, not inside a path, a package or a setting."""

    gfx: tuple[str, ...]
    kind: str
    words: str
    times: int
    stance: Stance
    sentence: Sentence
    start: int
    strong: bool = True


class Group(msgspec.Struct):
    """Mentions of the same GPU, and the targets that all of them allow."""

    gfx: tuple[str, ...]
    members: list[Named]
    count: int = 1


def record_gpus(result: ProbeResult, text: list[Sentence], names: GpuNames) -> None:
    """A listing of the GPUs of the reporter's machine; said.works.gpu, said.broken.gpu; said.other.gpu of other machines."""
    named = _of_others(_disputing([n for s in text for n in _named_gpus(s, names)]))
    here = [n for n in named if n.strong and n.stance not in ("elsewhere", "past")]
    for key, chosen in (
        ("said.other.gpu", [n for n in named if n.stance == "elsewhere"]),
        ("said.before.gpu", [n for n in named if n.stance == "past"]),
    ):
        if chosen:
            result.record(key, tuple(dict.fromkeys(n.words for n in chosen)), chosen[0].sentence.reading)
    groups = _groups(here) or _groups([n for n in named if not n.strong])
    if groups:
        listing = result.listing(complete=False)
        for group in groups[:MOST]:
            for _ in range(min(MOST, group.count)):
                _describe(result, group, listing.gpu())
        _record_sides(result, groups)
    _record_others(result, text)


_OWN = regex(r"\b(?:my|mine|i|i'm|i've|we|our)\b", re.I)


def _of_others(named: list[Named]) -> list[Named]:
    """The mentions, where a GPU that was first named as somebody else's stays his unless the person calls one his own."""
    theirs: set[str] = set()
    mine: set[str] = set()
    found = []
    for one in named:
        own = one.stance != "elsewhere" and (_OWN.search(one.sentence.text) is not None or theirs.isdisjoint(one.gfx))
        (mine if own else theirs).update(one.gfx)
        found.append(one if own or not mine.isdisjoint(one.gfx) else one._replace(stance="elsewhere"))
    return found


_APPOSED = regex(r"[\s(,;:=/-]*(?:target|arch|isa)?[\s(:=]*$", re.I)
"""Between a product and the target that a person gives for it: `Radeon 8060S (gfx1100)`."""


def _disputing(named: list[Named]) -> list[Named]:
    """The mentions, where a target beside a product that has another one is marked as a dispute about that product."""
    found: list[Named] = []
    for one in named:
        last = found[-1] if found else None
        if (
            last is not None
            and one.kind == "gfx"
            and last.kind == "name"
            and last.sentence is one.sentence
            and set(last.gfx).isdisjoint(one.gfx)
            and _APPOSED.fullmatch(one.sentence.text[last.start + len(last.words) : one.start])
        ):
            found.append(one._replace(gfx=last.gfx, kind="dispute"))
        else:
            found.append(one)
    return found


_PYTHON_LIST = regex(r"\[\s*['\"]gfx\w+(?::[\w:+-]+)?['\"]\s*[,\]]")
"""True inside the output of torch.cuda.get_arch_list(): targets of a build, not GPUs."""


def _named_gpus(sentence: Sentence, names: GpuNames) -> Iterator[Named]:
    text = sentence.text
    for mention in names.find(text)[:MOST]:
        if not _AND_LATER.match(text, mention.end):
            yield _of_mention(sentence, mention)
    low = text.lower()
    if "gfx" in low:
        yield from _gfx_mentions(sentence, names)
    if "1002:" in low:
        for found in _PCI.finditer(text):
            targets = names.of_pci(int(found.group(1), 16))
            if targets:
                yield Named(targets, "pci", found.group(0), 1, "plain", sentence, found.start())


def _of_mention(sentence: Sentence, mention: Mention) -> Named:
    before = sentence.text[max(0, mention.start - 60) : mention.start]
    side = "past" if _PAST.search(before) else sentence.stance(mention.start, mention.end)
    return Named(
        mention.gfx,
        mention.kind,
        mention.text,
        count_at(sentence.text, mention.start, mention.end),
        side,
        sentence,
        mention.start,
    )


def _gfx_mentions(sentence: Sentence, names: GpuNames) -> Iterator[Named]:
    """Mentions by gfx target: on its own a target is a device, in a path, package or setting only a hint, in a list nothing."""
    text = sentence.text
    found: dict[str, re.Match[str]] = {}
    if _PYTHON_LIST.search(text):
        return
    for hit in _GFX.finditer(text):
        found.setdefault(hit.group(0).lower(), hit)
    if len(found) > (1 if _LISTED.search(text) else 3):
        return
    for hit in found.values():
        before = text[max(0, hit.start() - 40) : hit.start()]
        targets = _family(hit.group(1), names) if hit.group(1) else (hit.group(0).lower(),)
        if targets and not _AS_IF.search(before):
            strong = not _INSIDE.search(before) and _WITHIN.match(text, hit.end()) is None
            side = sentence.stance(*hit.span())
            yield Named(
                targets,
                "gfx",
                hit.group(0),
                count_at(text, *hit.span()),
                side if strong else "plain",
                sentence,
                hit.start(),
                strong,
            )


def _family(digits: str, names: GpuNames) -> tuple[str, ...]:
    """All targets of the catalog with this prefix: gfx110x is gfx1100 to gfx1103."""
    known = dict.fromkeys(g for entry in names.entries.values() for g in entry.gfx)
    return tuple(sorted(g for g in known if g.startswith("gfx" + digits) and len(g) == len(digits) + 4))


def _groups(named: Iterable[Named]) -> list[Group]:
    """Mentions grouped by GPU. Exact names make the groups; families and processors only narrow them, or are a group alone."""
    groups: list[Group] = []
    for weak in (False, True):
        for one in (n for n in named if (n.kind in ("family", "codename", "processor")) is weak):
            group = _group_of(groups, one)
            if group is None:
                groups.append(Group(one.gfx, [one], max(1, one.times)))
                continue
            group.gfx = tuple(g for g in group.gfx if g in one.gfx)
            group.members.append(one)
            group.count = max(group.count, one.times)
    return groups


def _group_of(groups: list[Group], one: Named) -> Group | None:
    """The group that this mention belongs to; None for a second GPU that the sentence puts beside the first."""
    for group in groups:
        if set(group.gfx) & set(one.gfx) and not _are_joined(group.members[-1], one):
            return group
    return None


def _are_joined(first: Named, second: Named) -> bool:
    """True for `6900xt + 6800xt`: two GPUs of one target, joined in one sentence."""
    if (
        first.sentence is not second.sentence
        or not first.kind == second.kind == "name"
        or _plain(first.words) == _plain(second.words)
    ):
        return False
    return _JOINED.match(first.sentence.text[first.start + len(first.words) : second.start]) is not None


def _plain(words: str) -> str:
    return re.sub(r"radeon|instinct|amd|rx|pro|[\W_]", "", words.lower())


def _describe(result: ProbeResult, group: Group, gpu: dict[str, Fact]) -> None:
    best = min(group.members, key=lambda n: ("name", "gfx", "pci", "codename", "processor", "family", "dispute").index(n.kind))
    reading = best.sentence.reading
    if best.kind == "name":
        result.record("marketing_name", best.words, reading, gpu)
    elif best.kind == "family":
        result.record("family", re.sub(r"\s", "", best.words).upper(), reading, gpu)
    pci = next((n for n in group.members if n.kind == "pci"), None)
    if pci:
        result.record("device_id", int(pci.words[-4:], 16), pci.sentence.reading, gpu)
    if len(group.gfx) == 1:
        result.record("gfx", group.gfx[0], reading, gpu)
        for one in group.members:
            if one.kind == "dispute":
                result.record("gfx", one.words.lower(), one.sentence.reading, gpu)
    else:
        result.record("gfx", Unknown("ambiguous", f"`{best.words}` fits several targets; run rocminfo", group.gfx), reading, gpu)


def _record_sides(result: ProbeResult, groups: list[Group]) -> None:
    """said.works.gpu and said.broken.gpu, where one GPU of several works and another does not."""
    if len(groups) < 2:
        return
    for side in ("works", "broken"):
        chosen = [n for g in groups for n in g.members if n.stance == side]
        if chosen:
            result.record(
                f"said.{side}.gpu",
                tuple(dict.fromkeys(n.gfx[0] if len(n.gfx) == 1 else n.words for n in chosen)),
                chosen[0].sentence.reading,
            )


def _record_others(result: ProbeResult, text: Iterable[Sentence]) -> None:
    """GPUs of another vendor, and statements on the integrated GPU."""
    for sentence in text:
        nvidia = _NVIDIA.search(sentence.text)
        if nvidia and stance(sentence.text, *nvidia.span()) != "elsewhere":
            result.record("said.nvidia", nvidia.group(1), sentence.reading)
        igpu = _IGPU.search(sentence.text)
        if igpu:
            result.record("said.igpu", "disabled" if _DISABLED.search(sentence.text) else "present", sentence.reading)
