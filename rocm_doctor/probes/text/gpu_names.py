"""The gfx targets that a name may mean: marketing names in common spellings, code names, families, processors, PCI ids.

The names come from the catalog. A name of several targets gives several; the caller decides between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex

_TOKEN = regex(r"[0-9]+|[a-z]+")
_MARKS = regex(r"\((?:tm|r|c)\)|[™®©]")
_TIMES = regex(r"(?<=\d)[x×](?=(?:mi|rx|w|r|gfx|radeon|amd|instinct)\s?\d|amd|radeon|instinct)")
_NOISE = frozenset(("amd", "ati", "graphics", "instinct", "gpu", "series"))
_BRAND = frozenset(("radeon",))
_OPTIONAL = frozenset(("radeon", "rx", "pro", "ai"))
_SUFFIX = frozenset(("xt", "xtx", "gre", "m", "s", "x", "a", "p", "lp"))
_OTHER_SPELLING = {"strix": "stx"}
_NO_DEVICE = regex(r"\s{0,2}[- ]?(?:param|model|token|weight|sample|byte|lines|rows)", re.I)
_CONTEXT = regex(r"\b(?:amd|apu|i?gpu|radeon|ryzen|vga|graphics|dgpu)\b")
_LONGEST = 7

Key = tuple[str, ...]


class Mention(NamedTuple):
    """A GPU named in a text: the span, the words, the targets it may be, and the kind of name."""

    start: int
    end: int
    text: str
    gfx: tuple[str, ...]
    kind: str


class _Token(NamedTuple):
    word: str
    start: int
    end: int


class _Entry(NamedTuple):
    """`joints`: indexes of key words that must follow without a blank (the letter of `780M`, not the `XT` of `7900 XT`)."""

    gfx: tuple[str, ...]
    kind: str
    joints: tuple[int, ...] = ()
    needs_context: bool = False


class _Word(NamedTuple):
    word: str
    joined: bool


class GpuNames(NamedTuple):
    """The lookup, built once from the catalog by `GpuNames.from_catalog`. `accelerators`: device ids of Instinct boards, whose subsystem
    id is the device id."""

    entries: dict[Key, _Entry]
    pci: dict[int, tuple[str, ...]]
    processors: tuple[tuple[re.Pattern[str], str], ...]
    firsts: frozenset[str]
    accelerators: frozenset[int] = frozenset()

    @classmethod
    def from_catalog(
        cls,
        cards: Iterable[tuple[str, Sequence[str], Sequence[str]]],
        codenames: Iterable[tuple[str, str]] = (),
        families: Iterable[tuple[str, str]] = (),
        processors: Iterable[tuple[str, Sequence[str]]] = (),
        accelerators: Iterable[int] = (),
    ) -> GpuNames:
        """The lookup of (target, marketing names, PCI ids in hex) and of pairs of target and code name, family or processor glob."""
        entries: dict[Key, _Entry] = {}
        pci: dict[int, tuple[str, ...]] = {}
        short: dict[Key, _Entry] = {}
        for gfx, names, ids in cards:
            for name in names:
                for words in _spellings(_words(name)):
                    _add(entries, words, gfx, "name")
                for words in _spellings(_drop_suffix(_words(name))):
                    _add(short, words, gfx, "name")
            for number in ids:
                pci[int(number, 16)] = (*pci.get(int(number, 16), ()), gfx)
        for key, entry in short.items():
            entries.setdefault(key, entry)
        _add_others(entries, codenames, families)
        patterns = tuple((_glob(glob), gfx) for gfx, globs in processors for glob in globs)
        firsts = frozenset(key[0] for key in entries)
        return cls(entries, pci, patterns, firsts, frozenset(accelerators))

    def find(self, text: str) -> list[Mention]:
        """Every GPU named in the text, in order; the longest of the names at one offset. Linear time."""
        found: list[Mention] = []
        start = 0
        for line in text.split("\n"):
            found += [m._replace(start=m.start + start, end=m.end + start) for m in self._find_in_line(line)]
            start += len(line) + 1
        return found

    def _find_in_line(self, text: str) -> list[Mention]:
        low = _TIMES.sub(" ", _MARKS.sub(lambda m: " " * len(m.group()), text.replace("\u0130", "I").lower()))
        named: list[Mention] = []
        if not self.firsts.isdisjoint(_TOKEN.findall(low)):
            tokens = [_Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(low) if m.group() not in _NOISE]
            named = list(self._find_names(text, low, tokens))
        kept: list[Mention] = []
        for mention in sorted([*named, *self._processors(text, low)]):
            if not kept or mention.start >= kept[-1].end:
                kept.append(mention)
        return kept

    def targets_by_name(self, name: str) -> tuple[str, ...]:
        """The targets that a name printed by a tool may mean; empty for a generic name (`AMD Radeon Graphics`)."""
        device = re.fullmatch(r"Device ([0-9a-fA-F]{4})", name.strip())
        if device:
            return self.pci.get(int(device.group(1), 16), ())
        found = self.find(name[:200])
        best = [m for m in found if m.kind == "name"] or found
        return tuple(dict.fromkeys(gfx for mention in best for gfx in mention.gfx))

    def targets_by_pci(self, device_id: int) -> tuple[str, ...]:
        """The targets of a PCI device id."""
        return self.pci.get(device_id, ())

    def _find_names(self, text: str, low: str, tokens: list[_Token]) -> Iterator[Mention]:
        place = 0
        while place < len(tokens):
            hit = self._longest(tokens[place : place + _LONGEST])
            if hit is None or not _is_name(hit[1], tokens[place : place + hit[0]], low):
                place += 1
                continue
            start, end = tokens[place].start, tokens[min(place + hit[0], len(tokens)) - 1].end
            yield Mention(start, end, text[start:end], hit[1].gfx, hit[1].kind)
            place += hit[0]

    def _longest(self, tokens: list[_Token]) -> tuple[int, _Entry] | None:
        words = tuple(t.word for t in tokens)
        return next(((n, entry) for n in range(len(words), 0, -1) if (entry := self.entries.get(words[:n]))), None)

    def _processors(self, text: str, low: str) -> Iterator[Mention]:
        for word in ("ryzen", "ai max", "custom apu"):
            place = low.find(word)
            while place >= 0:
                found = next(((m, gfx) for pattern, gfx in self.processors if (m := pattern.match(low, place, place + 60))), None)
                if found:
                    words = text[place : found[0].end()].rstrip()
                    yield Mention(place, place + len(words), words, (found[1],), "processor")
                place = low.find(word, found[0].end() if found else place + len(word))


def _is_name(entry: _Entry, tokens: list[_Token], low: str) -> bool:
    """True if letters that belong to a number touch it, the name is not part of a longer word, and no unit follows."""
    start, end = tokens[0].start, tokens[-1].end
    if (start and low[start - 1].isalnum() and low[start - 1] != "x") or low[end : end + 1].isalnum():
        return False
    if any(tokens[n].start != tokens[n - 1].end for n in entry.joints):
        return False
    if any(b.start - a.end > 12 for a, b in pairwise(tokens)):
        return False
    return not _NO_DEVICE.match(low, end) and (
        not entry.needs_context or _CONTEXT.search(low, max(0, start - 80), end + 60) is not None
    )


def _add(entries: dict[Key, _Entry], words: Sequence[_Word], gfx: str, kind: str, needs_context: bool = False) -> None:
    key = tuple(w.word for w in words)
    had = entries.get(key)
    targets = had.gfx if had else ()
    if gfx not in targets:
        joints = tuple(n for n, w in enumerate(words) if n and w.joined and 1 in (len(w.word), len(words[n - 1].word)))
        entries[key] = _Entry((*targets, gfx), had.kind if had else kind, joints, needs_context)


def _add_others(entries: dict[Key, _Entry], codenames: Iterable[tuple[str, str]], families: Iterable[tuple[str, str]]) -> None:
    for gfx, several in codenames:
        for name in several.split("/"):
            words = _words(name)
            for spelled in (words, [w._replace(word=_OTHER_SPELLING.get(w.word, w.word)) for w in words]):
                if words:
                    _add(entries, spelled, gfx, "codename", needs_context=len(words) == 1)
    for gfx, family in families:
        _add(entries, [w._replace(joined=False) for w in _words(family)], gfx, "family")


def _words(name: str) -> list[_Word]:
    found, end = [], -1
    for match in _TOKEN.finditer(_MARKS.sub(" ", name.lower())):
        if match.group() not in _NOISE:
            found.append(_Word(match.group(), match.start() == end))
        end = match.end()
    return found


def _spellings(words: list[_Word]) -> Iterator[list[_Word]]:
    """The name with and without the words (and the memory size) that people leave out, unless only a number is left."""
    if len(words) > 2 and words[-1].word == "gb":
        yield from _spellings(words[:-2])
    optional = _OPTIONAL if any(w.word.isdigit() for w in words) else _BRAND
    for choice in product(*[((w,), ()) if w.word in optional else ((w,),) for w in words]):
        kept = [w for part in choice for w in part]
        key = [w.word for w in kept]
        if kept and (_has_brand(key) or _is_distinctive(key)):
            yield kept


def _drop_suffix(words: list[_Word]) -> list[_Word]:
    """The name cut behind its number (`RX 7900`, `MI300`), as people write who leave the exact model open."""
    if len(words) > 2 and words[-1].word == "gb":
        words = words[:-2]
    while words and not words[-1].word.isdigit():
        words = words[:-1] if words[-1].word in _SUFFIX else []
    return words


def _has_brand(key: Sequence[str]) -> bool:
    return key[0] in ("radeon", "rx") and len(key) > 1


def _is_distinctive(key: Sequence[str]) -> bool:
    """Letters and a number together (`7900 xtx`, `w 7900`, `780 m`, `mi 300 x`, `vega 56`), or `pro vii`."""
    letters = [w for w in key if w.isalpha() and w not in ("gb", "lp", "pro", "ai")]
    numbers = [w for w in key if w.isdigit()]
    return (
        bool(letters and any(len(n) > 1 for n in numbers))
        or list(key[:2]) == ["pro", "vii"]
        or (key[0] == "vega" and len(key) > 1)
    )


def _glob(glob: str) -> re.Pattern[str]:
    """A processor's glob as a pattern: a star as a word is the tier (`7`, `7 PRO`) and optional, a trailing one any suffix."""
    out = []
    for word in glob.lower().split():
        body = re.escape(word).replace(r"\?", r"\d").replace(r"\*", r"[\w+]{0,8}")
        out.append(r"(?:[\w-]{1,6}\s+){0,2}" if word == "*" else body + r"(?:\s+|$|(?=\W)|(?<=x)(?=\d))")
    first = out[0]
    optional = len(out) > 1 and glob.lower().startswith("ryzen ai max")
    return regex((f"(?:{first})?" if optional else first) + "".join(out[1:]))
