"""The gfx targets that a name may mean: marketing names in common spellings, code names, families, processors, PCI ids.

The names come from the catalog. A name of several targets gives several; the caller decides between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix

_TOKEN = regex(r"[0-9]+|[a-z]+")
_MARKS = regex(r"\((?:tm|r|c)\)|[™®©]")
_TIMES = regex(r"(?<=\d)[x×](?=(?:mi|rx|w|r|gfx|radeon|amd|instinct)\s?\d|amd|radeon|instinct)")
_NOISE = frozenset(("amd", "ati", "graphics", "instinct", "gpu", "series"))
_OPTIONAL = frozenset(("radeon", "rx", "pro", "ai"))
_SUFFIX = frozenset(("xt", "xtx", "gre", "m", "s", "x", "a", "p", "lp"))
_NO_DEVICE = regex(r"\s{0,2}[- ]?(?:param|model|token|weight|sample|byte|lines|rows)", re.I)
_CONTEXT = regex(r"\b(?:amd|apu|i?gpu|radeon|ryzen|vga|graphics|dgpu)\b")
_LONGEST = 7
"""Words of the longest name."""


class Mention(NamedTuple):
    """A GPU named in a text, from `start` to `end`. `gfx`: the targets that it may be; `kind`: the kind of name."""

    start: int
    end: int
    text: str
    gfx: tuple[str, ...]
    kind: str


class _Entry(NamedTuple):
    """`joints`: indexes of words that must follow without a blank (the letter of `780M`, not the `XT` of `7900 XT`). `alone`: a code name of
    one word, which means a GPU only near another word for one."""

    gfx: tuple[str, ...]
    kind: str
    joints: tuple[int, ...]
    alone: bool


class _Word(NamedTuple):
    word: str
    joined: bool


class GpuNames:
    """The lookup, built once from the catalog. `accelerators`: device ids of Instinct boards, whose subsystem id is the device id."""

    def __init__(self, matrix: Matrix) -> None:
        self.entries: dict[tuple[str, ...], _Entry] = {}
        self.pci: dict[int, tuple[str, ...]] = {}
        self.processors: list[tuple[re.Pattern[str], str]] = []
        self.accelerators: set[int] = set()
        short: list[tuple[list[_Word], str]] = []
        for target in matrix.gfx.values():
            for words in map(_words, target.names):
                self._add(_spellings(words), target.gfx, "name")
                short += [(spelled, target.gfx) for spelled in _spellings(_drop_suffix(words))]
            for number in (int(pci, 16) for pci in target.pci):
                self.pci[number] = (*self.pci.get(number, ()), target.gfx)
                if target.family.startswith("CDNA"):
                    self.accelerators.add(number)
            codenames = f"{target.codename}/{target.codename.replace('Strix', 'STX')}"
            self._add(map(_words, codenames.split("/")), target.gfx, "codename")
            self._add([[w._replace(joined=False) for w in _words(target.family)]], target.gfx, "family")
            self.processors += [(_glob(glob), target.gfx) for glob in target.processors]
        whole = set(self.entries)
        for words, gfx in short:
            if tuple(w.word for w in words) not in whole:
                self._add([words], gfx, "name")
        self._firsts = frozenset(key[0] for key in self.entries)

    def _add(self, names: Iterable[Sequence[_Word]], gfx: str, kind: str) -> None:
        for words in filter(None, names):
            key = tuple(w.word for w in words)
            had = self.entries.get(key)
            if had is None or gfx not in had.gfx:
                joints = tuple(n for n, w in enumerate(words) if n and w.joined and 1 in (len(w.word), len(words[n - 1].word)))
                alone = kind == "codename" and len(words) == 1
                self.entries[key] = _Entry((*(had.gfx if had else ()), gfx), had.kind if had else kind, joints, alone)

    def find(self, text: str) -> list[Mention]:
        """Every GPU named in the text, in order; the longest of the names at one offset. Linear time."""
        found: list[Mention] = []
        start = 0
        for line in text.split("\n"):
            found += [m._replace(start=m.start + start, end=m.end + start) for m in self._find_in_line(line)]
            start += len(line) + 1
        return found

    def targets_by_name(self, name: str) -> tuple[str, ...]:
        """The targets that a name printed by a tool may mean; empty for a generic name (`AMD Radeon Graphics`)."""
        if device := re.fullmatch(r"Device ([0-9a-fA-F]{4})", name.strip()):
            return self.targets_by_pci(int(device[1], 16))
        found = self.find(name[:200])
        best = [m for m in found if m.kind == "name"] or found
        return tuple(dict.fromkeys(gfx for mention in best for gfx in mention.gfx))

    def targets_by_pci(self, device_id: int) -> tuple[str, ...]:
        return self.pci.get(device_id, ())

    def targets_with_prefix(self, digits: str) -> tuple[str, ...]:
        """All targets of the catalog with this prefix: gfx110x is gfx1100 to gfx1103."""
        known = {gfx for entry in self.entries.values() for gfx in entry.gfx}
        return tuple(sorted(gfx for gfx in known if gfx.startswith("gfx" + digits) and len(gfx) == len(digits) + 4))

    def _find_in_line(self, text: str) -> list[Mention]:
        low = _TIMES.sub(" ", _MARKS.sub(lambda m: " " * len(m.group()), text.replace("\u0130", "I").lower()))
        named = [] if self._firsts.isdisjoint(_TOKEN.findall(low)) else list(self._find_names(text, low))
        kept: list[Mention] = []
        for mention in sorted([*named, *self._find_processors(text, low)]):
            if not kept or mention.start >= kept[-1].end:
                kept.append(mention)
        return kept

    def _find_names(self, text: str, low: str) -> Iterator[Mention]:
        tokens = [m for m in _TOKEN.finditer(low) if m[0] not in _NOISE]
        place = 0
        while place < len(tokens):
            words = tuple(token[0] for token in tokens[place : place + _LONGEST])
            entry, count = next(((e, n) for n in range(len(words), 0, -1) if (e := self.entries.get(words[:n]))), (None, 1))
            if entry and _is_name(entry, tokens[place : place + count], low):
                start, end = tokens[place].start(), tokens[place + count - 1].end()
                brand = _BRAND.search(low, max(0, start - 30), start)
                start = brand.start() if brand else start
                yield Mention(start, end, text[start:end], entry.gfx, entry.kind)
            else:
                count = 1
            place += count

    def _find_processors(self, text: str, low: str) -> Iterator[Mention]:
        for found in _PROCESSOR.finditer(low):
            start = found.start()
            hit = next(((m, gfx) for pattern, gfx in self.processors if (m := pattern.match(low, start, start + 60))), None)
            if hit:
                words = text[start : hit[0].end()].rstrip()
                yield Mention(start, start + len(words), words, (hit[1],), "processor")


_PROCESSOR = regex(r"ryzen|ai max|custom apu")
_BRAND = regex(r"\bamd(?:\s{1,3}instinct)?\s{1,6}$|\binstinct\s{1,6}$")


def _is_name(entry: _Entry, tokens: list[re.Match[str]], low: str) -> bool:
    """True if letters that belong to a number touch it, the name is not part of a longer word, and no unit follows."""
    start, end = tokens[0].start(), tokens[-1].end()
    if (start and low[start - 1].isalnum() and low[start - 1] != "x") or low[end : end + 1].isalnum():
        return False
    if any(tokens[n].start() != tokens[n - 1].end() for n in entry.joints) or end - start > 12 * len(tokens):
        return False
    return not _NO_DEVICE.match(low, end) and not (entry.alone and not _CONTEXT.search(low, max(0, start - 80), end + 60))


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
    optional = _OPTIONAL if any(w.word.isdigit() for w in words) else ("radeon",)
    for choice in product(*[((w,), ()) if w.word in optional else ((w,),) for w in words]):
        kept = [w for part in choice for w in part]
        if kept and _is_distinctive([w.word for w in kept]):
            yield kept


def _drop_suffix(words: list[_Word]) -> list[_Word]:
    """The name cut behind its number (`RX 7900`, `MI300`), as people write who leave the exact model open."""
    if len(words) > 2 and words[-1].word == "gb":
        words = words[:-2]
    while words and not words[-1].word.isdigit():
        words = words[:-1] if words[-1].word in _SUFFIX else []
    return words


def _is_distinctive(key: Sequence[str]) -> bool:
    """True for a brand with more (`rx 7900`), letters and a number together (`7900 xtx`, `780 m`, `mi 300 x`), or `pro vii`."""
    letters = [w for w in key if w.isalpha() and w not in ("gb", "lp", "pro", "ai")]
    numbers = [w for w in key if w.isdigit() and len(w) > 1]
    return bool(letters and numbers) or (len(key) > 1 and (key[0] in ("radeon", "rx", "vega") or key[:2] == ["pro", "vii"]))


def _glob(glob: str) -> re.Pattern[str]:
    """A processor's glob as a pattern: a star as a word is the tier (`7`, `7 PRO`) and optional, a trailing one any suffix."""
    out = []
    for word in glob.lower().split():
        body = re.escape(word).replace(r"\?", r"\d").replace(r"\*", r"[\w+]{0,8}")
        out.append(r"(?:[\w-]{1,6}\s+){0,2}" if word == "*" else body + r"(?:\s+|$|(?=\W)|(?<=x)(?=\d))")
    first = f"(?:{out[0]})?" if glob.lower().startswith("ryzen ai max") else out[0]
    return regex(first + "".join(out[1:]))
