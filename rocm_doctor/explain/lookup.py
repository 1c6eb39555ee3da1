"""What a text names: the search in the index."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.explain.index import IndexEntry, NamedThing, fold, index, key, matches_release
from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import Matrix

_SIZE = regex(r"\s*\b\d+ ?gi?b\b", re.IGNORECASE)
_VARIABLE = regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=.*)?")
_RELEASE = regex(r"(?P<name>[a-z][a-z+ _/-]{0,80}?)?[\s=v@:-]{0,20}(?P<version>\d+(?:\.\w+)*(?:\+\S+)?)")
_GENERAL = ("torch", "rocm", "python", "amdgpu", "linux")
"""What a text names beside what it is about (`axolotl rocm`); with a version, or in `A or B`, it is what the text is about."""
LONGEST = 5
"""Words of the longest name that is looked for inside a text."""


def search(text: str, matrix: Matrix) -> list[NamedThing]:
    """What the text names, the most likely first: exactly this; else names with all its words; else what it mentions; else what is
    described with its words."""
    if exact := _find_exact(text, matrix):
        return exact
    if _VARIABLE.fullmatch(text.strip()):
        return []  # the words in the name of a variable are not what it is about
    by_name, described = _find_words(fold(text).split("-"), matrix)
    rows = [entry for entry in by_name if entry.entry.kind == "row"]
    named, mentioned = [entry for entry in by_name if entry not in rows], _find_mentioned(text, matrix)
    return (mentioned if len(mentioned) == 1 < len(named) else named or mentioned) or rows or described


def _find_exact(text: str, matrix: Matrix) -> list[NamedThing]:
    by_name, name = index(matrix).by_name, key(text)
    variable = by_name.get(key(text.partition("=")[0]), [])
    if name in by_name or (variable and variable[0].kind == "variable"):
        several = by_name.get(name, variable)
        return [NamedThing(entry._replace(name=entry.of) if len(several) > 1 else entry) for entry in several]
    if gpus := _whole_gpu(text, matrix):
        return list(map(NamedThing, gpus))
    parts = _RELEASE.fullmatch(text.strip().lower())
    if not parts:
        return []
    entries = (
        by_name.get(key(parts["name"] or ""), [])
        if parts["name"]
        else [e for name in ("rocm", "torch", "python") for e in by_name[name]]
    )
    things = [
        NamedThing(entry, parts["version"])
        for entry in entries
        if entry.kind in ("library", "system") or _is_released(entry.kind, parts["version"], matrix)
    ]
    return things if parts["name"] or len(things) == 1 else [thing._replace(sure=False) for thing in things]


def _is_released(kind: str, version: str, matrix: Matrix) -> bool:
    """True if the catalog has that release, or one of that series."""
    released: dict[str, Iterable[str]] = {
        "rocm": (release.version for release in matrix.rocm),
        "torch": (name for build in matrix.torch for name in (build.torch, build.local)),
        "python": (python for build in matrix.torch for python in build.pythons),
        "driver": (module.module for module in matrix.driver_modules),
    }
    return any(matches_release(known, version) for known in released.get(kind, ()))


def _whole_gpu(text: str, matrix: Matrix) -> list[IndexEntry]:
    """The targets that the text names, where it names nothing besides; a single one under the name of its product."""
    gfx = text.strip().lower().partition(":")[0]
    if gfx in matrix.gfx:
        return [IndexEntry("gpu", gfx, gfx)]
    names = gpu_names(matrix).find(text)
    rest = text
    for name in names:
        rest = rest.replace(name.text, " ")
    left = [
        word for word in fold(rest).split("-") if word not in ("", "amd", "graphics", "gpu", "gb", "gib", "instinct", "ryzen")
    ]
    if any(map(str.isalpha, left)):
        return []
    targets = dict.fromkeys(gfx for one in names for gfx in one.gfx)
    product = _SIZE.sub("", text).strip()
    return [
        IndexEntry("gpu", gfx, product if len(targets) == 1 else gfx, ", ".join(matrix.gfx[gfx].names[:3])) for gfx in targets
    ]


def _find_mentioned(text: str, matrix: Matrix) -> list[NamedThing]:
    """The things named inside a longer text; a library with the GPU beside it is one."""
    indexed = index(matrix).by_name
    mentions = gpu_names(matrix).find(text)
    words = fold(text).split("-")
    things: list[NamedThing] = []
    place = 0
    while place < len(words):
        spans = ((n, "".join(words[place : place + n])) for n in range(LONGEST, 0, -1))
        named = ((n, [entry for entry in indexed.get(name, ()) if entry.kind != "row"]) for n, name in spans if len(name) > 2)
        size, entries = next(((n, several) for n, several in named if several), (1, []))
        after = words[place + size] if place + size < len(words) else ""
        number = after if after[:1].isdigit() else ""
        release = number if "." in number else ""
        things += [
            NamedThing(entry, number if entry.kind == "system" else release, False) for entry in entries if entry.kind != "gpu"
        ]
        glued = _RELEASE.fullmatch(words[place])
        if not entries and glued and glued["name"] in ("rocm", "torch", "python"):
            things += [NamedThing(indexed[glued["name"]][0], glued["version"], False)]
        place += size
    if {"or", "vs", "versus"}.isdisjoint(words):
        things = [thing for thing in things if thing.version or thing.entry.of not in _GENERAL] or things
    things = _join_release(things)
    by_name = (gfx for mention in mentions if len(mention.gfx) == 1 for gfx in mention.gfx)
    targets = list(dict.fromkeys((*by_name, *(word for word in words if word in matrix.gfx))))
    libraries = [thing for thing in things if thing.entry.kind == "library"]
    if libraries and len(targets) <= 1:
        others = [thing for thing in things if thing.entry.kind not in ("library", "system") and not targets]
        return list(dict.fromkeys(library._replace(gpu="".join(targets)) for library in libraries)) + others
    gpus = [NamedThing(IndexEntry("gpu", gfx, gfx, ", ".join(matrix.gfx[gfx].names[:3])), sure=False) for gfx in targets]
    others = [thing for thing in dict.fromkeys(things) if len(gpus) != 1 or thing.entry.kind in ("diagnosis", "variable")]
    return gpus + others


def _join_release(things: list[NamedThing]) -> list[NamedThing]:
    """One torch and one ROCm, each with its version, are a build."""
    versions = {thing.entry.kind: thing.version for thing in things}
    if len(things) != 2 or not versions.get("torch") or not versions.get("rocm"):
        return things
    torch = next(thing for thing in things if thing.entry.kind == "torch")
    return [torch._replace(version=f"{versions['torch']}+rocm{versions['rocm']}")]


def _find_words(words: list[str], matrix: Matrix) -> tuple[list[NamedThing], list[NamedThing]]:
    """(entries with all these words in their name, others that have them in name or description). Words of one letter do not
    count; a GPU's product must have them as whole words."""
    wanted = [word for word in words if len(word) > 1]
    by_name: dict[tuple[str, str], NamedThing] = {}
    described: dict[tuple[str, str], NamedThing] = {}
    names = index(matrix)
    for entry in names.entries if wanted else ():
        name = fold(entry.name)
        # `nan` is not an R9 Nano: a product is named by whole words.
        within = name.split("-") if entry.kind == "gpu" and entry.name != entry.of else name
        if all(word in within for word in wanted):
            # A name of several GPUs is replaced by the target.
            own = entry._replace(name=entry.of) if len(names.by_name[key(entry.name)]) > 1 else entry
            by_name.setdefault(entry[:2], NamedThing(own, sure=False))
        elif all(word in f"{name}-{fold(entry.words)}" for word in wanted):
            described.setdefault(entry[:2], NamedThing(entry, sure=False))
    return list(by_name.values()), list(described.values())


def nearest_names(text: str, matrix: Matrix, most: int = 3) -> list[str]:
    """The names that have most of its words, then those that are spelt most like it; none for a text longer than every name."""
    if len(fold(text).split("-")) > LONGEST:
        return []
    names = index(matrix)
    words = [word for word in fold(text).split("-") if len(word) > 3]
    shared = {entry.name: sum(word in f"{fold(entry.name)}-{fold(entry.words)}" for word in words) for entry in names.entries}
    best = sorted(filter(shared.get, shared), key=lambda name: -shared[name])
    near = [names.by_name[match][0].name for match in difflib.get_close_matches(key(text)[:60], names.by_name, most, 0.6)]
    far = [names.by_name[match][0].name for match in difflib.get_close_matches(key(text)[:60], names.by_name, most, 0.0)]
    return list(dict.fromkeys((*near, *best, *far)))[:most]
