"""What words name: an index of every name in the catalog, made once for a matrix."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import FAMILIES
from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import Matrix

Kind = Literal["gpu", "diagnosis", "row", "variable", "library", "torch", "rocm", "python", "driver", "system"]
_RELEASE = regex(r"(?P<name>[a-z][a-z+ _/-]{0,80}?)?[\s=v@:-]{0,20}(?P<version>\d+(?:\.\w+)*(?:\+\S+)?)")
_OTHER = regex(r"[^a-z0-9.+*]+")
_FEATURE, _SERVING = "PyTorch feature: ", "Serving: "
_VARIABLE = regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=.*)?")
_SIZE = regex(r"\s*\b\d+ ?gi?b\b", re.IGNORECASE)
_GENERAL = ("torch", "rocm", "python", "amdgpu", "linux")
"""What a text names beside what it is about (`axolotl rocm`); with a version, or in `A or B`, it is what the text is about."""
LONGEST = 5
"""Words of the longest name that is looked for inside a text."""


class Entry(NamedTuple):
    """One name: the kind of thing, which one it is (`of`: the target of a product, the folded name of a library), and it in one line."""

    kind: Kind
    of: str
    name: str
    words: str = ""


class Found(NamedTuple):
    """What a text names. `sure`: the text is nothing but the name. `gpu`: the target that it names beside it."""

    entry: Entry
    version: str = ""
    sure: bool = True
    gpu: str = ""

    @property
    def query(self) -> str:
        """What to type behind `explain`."""
        return shlex.quote(" ".join(filter(None, (self.entry.name, self.version, self.gpu))))


def fold(text: str) -> str:
    """A name in small letters with dashes between its words, so that case, blanks and underscores make no difference."""
    return _OTHER.sub("-", text.strip().strip("`'\"").lower()).strip("-")


def key(text: str) -> str:
    """What the index holds a name under: folded, without dashes (`FlashAttention` and `flash attention` are one name)."""
    return fold(text).replace("-", "")


class Index(NamedTuple):
    """Entries by the key of their name, and all of them in the order in which they are offered."""

    by_name: dict[str, list[Entry]]
    entries: tuple[Entry, ...]


def index(matrix: Matrix) -> Index:
    """The index of a matrix."""
    return matrix.once(_index)


def _index(matrix: Matrix) -> Index:
    by_name: dict[str, list[Entry]] = {}
    entries = tuple(_entries(matrix))
    for entry in entries:
        same = by_name.setdefault(key(entry.name), [])
        # Two kinds of one name are one page, that of the first: the page of a library has the rows about it.
        if all(entry.kind == one.kind and entry.of != one.of for one in same):
            same.append(entry)
    for synonym in matrix.synonyms:
        meant = [one for name in synonym.see for one in by_name.get(key(name), ())]
        by_name |= {key(name): meant for name in synonym.names if meant}
    return Index(by_name, entries)


def _entries(matrix: Matrix) -> Iterator[Entry]:
    for target in matrix.gfx.values():
        words = f"{', '.join(target.names[:3]) or target.codename} ({target.family})"
        yield Entry("gpu", target.gfx, target.gfx, words)
        names = (*target.names, *target.codename.split(" / "), *(one.strip("* ") for one in target.processors))
        yield from (Entry("gpu", target.gfx, name, f"{target.gfx} ({target.family})") for name in names if "?" not in name)
    yield from (Entry("diagnosis", one.id, one.id, one.title) for one in matrix.diagnoses.values())
    for one in matrix.env.values():
        yield from (Entry("variable", one.name, name, one.effect) for name in (one.name, *one.also))
    yield from (Entry("torch", "torch", name, "its builds for ROCm") for name in ("torch", "PyTorch"))
    yield Entry("rocm", "rocm", "ROCm", "its releases")
    yield Entry("python", "python", "Python", "the versions that torch has builds for")
    yield from (Entry("driver", "amdgpu", name, "the kernel driver") for name in ("amdgpu", "driver", "amdgpu driver"))
    for name in ("Linux", "Windows", "WSL", "WSL2"):
        yield Entry("system", name.lower().rstrip("2"), name, "what ROCm and torch need on it")
    for name in (name for several in FAMILIES.values() for name in several):
        yield Entry("system", name, name.title() if len(name) > 4 else name.upper(), "the ROCm releases that name it")
    yield from _libraries(matrix)
    yield from (Entry("row", one.key, name, one.title) for one in matrix.rows for name in (one.key, *one.aliases))
    yield from (
        Entry("row" if new in matrix.by_key else "diagnosis", new, old, f"now {new}")
        for old, new in matrix.retired.items()
        if new
    )


def _libraries(matrix: Matrix) -> Iterator[Entry]:
    """Packages, parts of ROCm, programs, images and features of torch: everything that statements are about by its name."""
    known: dict[str, tuple[str, str]] = {}

    def add(name: str, words: str = "") -> None:
        plain = name.partition("[")[0]
        before = known.get(key(plain), (plain, ""))
        known[key(plain)] = (before[0], before[1] or words)

    for one in matrix.plain("packages") or ():
        add(one["name"], one["what"])
    for one in matrix.plain("cuda_only") or ():
        add(one["name"], "made for CUDA" + (f"; {one['way']}" if "way" in one else ""))
    for one in matrix.facts:
        subject = one.subject.removeprefix(_FEATURE)
        names = [subject] if subject != one.subject else re.split(r",? and |, ", subject.partition(" (")[0])
        for name in [subject.removeprefix(_SERVING).partition(",")[0]] if subject.startswith(_SERVING) else names:
            add(name, one.words)
    for one in matrix.plain("images") or ():
        add(one["name"] if "/" in one["name"] else "", one.get("way", "an image"))
    for row in matrix.rows:
        for name in (name.removeprefix("pkg.") for name in row.when if name.startswith("pkg.")):
            add(name, row.title)
    for diagnosis in matrix.diagnoses.values():
        if diagnosis.id.startswith("lib."):
            add(diagnosis.id.removeprefix("lib."), diagnosis.title)
    for extension in matrix.extensions.values():
        add(extension.name)
    for one in matrix.plain("requires_torch") or ():
        for name in one["packages"]:
            add(name, "a package that brings torch as a dependency")
    for program in (one for one in matrix.programs.values() if any("rocm" in source.lower() for source in one.sources)):
        add(program.name, f"a program of {program.package}")
    taken = {key(name) for name in ("linux", "windows", "wsl", "rocm", "pytorch", "torch", "python", "amdgpu driver")}
    yield from (Entry("library", fold(name), name, words) for at, (name, words) in known.items() if at and at not in taken)
    for one in matrix.applications:
        titles = dict.fromkeys((one.title, *one.names))
        yield from (
            Entry("library", fold(one.names[0]), name, f"{one.title}, a program on the GPU")
            for name in titles
            if key(name) not in known
        )


def search(text: str, matrix: Matrix) -> list[Found]:
    """What the text names, the most likely first: exactly this; else names with all its words; else what it mentions; else what is
    described with its words."""
    if exact := _find_exact(text, matrix):
        return exact
    if _VARIABLE.fullmatch(text.strip()):
        return []  # the words in the name of a variable are not what it is about
    having, told = _find_words(fold(text).split("-"), matrix)
    rows = [one for one in having if one.entry.kind == "row"]
    named, mentioned = [one for one in having if one not in rows], _find_mentioned(text, matrix)
    return (mentioned if len(mentioned) == 1 < len(named) else named or mentioned) or rows or told


def _find_exact(text: str, matrix: Matrix) -> list[Found]:
    known, name = index(matrix).by_name, key(text)
    variable = known.get(key(text.partition("=")[0]), [])
    if name in known or (variable and variable[0].kind == "variable"):
        several = known.get(name, variable)
        return [Found(one._replace(name=one.of) if len(several) > 1 else one) for one in several]
    if gpus := _whole_gpu(text, matrix):
        return list(map(Found, gpus))
    parts = _RELEASE.fullmatch(text.strip().lower())
    if not parts:
        return []
    named = (
        known.get(key(parts["name"] or ""), [])
        if parts["name"]
        else [e for name in ("rocm", "torch", "python") for e in known[name]]
    )
    found = [
        Found(one, parts["version"])
        for one in named
        if one.kind in ("library", "system") or _is_released(one.kind, parts["version"], matrix)
    ]
    return found if parts["name"] or len(found) == 1 else [one._replace(sure=False) for one in found]


def _is_released(kind: str, version: str, matrix: Matrix) -> bool:
    """Whether the catalog has that release, or one of that series."""
    released: dict[str, Iterable[str]] = {
        "rocm": (one.version for one in matrix.rocm),
        "torch": (name for one in matrix.torch for name in (one.torch, one.local)),
        "python": (f"3.{tag[3:]}" for one in matrix.torch for tag in one.pythons),
        "driver": (one.module for one in matrix.driver_modules),
    }
    return any(matches_release(one, version) for one in released.get(kind, ()))


def matches_release(release: str, asked: str) -> bool:
    """Whether a release is the one asked for, or of that series."""
    return release == asked or release.startswith((f"{asked}.", f"{asked}+", f"{asked}-"))


def _whole_gpu(text: str, matrix: Matrix) -> list[Entry]:
    """The targets that the text names, where it names nothing besides; a single one under the name of its product."""
    gfx = text.strip().lower().partition(":")[0]
    if gfx in matrix.gfx:
        return [Entry("gpu", gfx, gfx)]
    found = gpu_names(matrix).find(text)
    rest = text
    for one in found:
        rest = rest.replace(one.text, " ")
    left = [
        word for word in fold(rest).split("-") if word not in ("", "amd", "graphics", "gpu", "gb", "gib", "instinct", "ryzen")
    ]
    if any(map(str.isalpha, left)):
        return []
    targets = dict.fromkeys(gfx for one in found for gfx in one.gfx)
    product = _SIZE.sub("", text).strip()
    return [Entry("gpu", gfx, product if len(targets) == 1 else gfx, ", ".join(matrix.gfx[gfx].names[:3])) for gfx in targets]


def _find_mentioned(text: str, matrix: Matrix) -> list[Found]:
    """The things named inside a longer text; a library with the GPU beside it is one."""
    known = index(matrix).by_name
    mentions = gpu_names(matrix).find(text)
    words = fold(text).split("-")
    found: list[Found] = []
    place = 0
    while place < len(words):
        spans = ((n, "".join(words[place : place + n])) for n in range(LONGEST, 0, -1))
        named = ((n, [one for one in known.get(name, ()) if one.kind != "row"]) for n, name in spans if len(name) > 2)
        size, entries = next(((n, several) for n, several in named if several), (1, []))
        after = words[place + size] if place + size < len(words) else ""
        number = after if after[:1].isdigit() else ""
        release = number if "." in number else ""
        found += [Found(one, number if one.kind == "system" else release, False) for one in entries if one.kind != "gpu"]
        glued = _RELEASE.fullmatch(words[place])
        if not entries and glued and glued["name"] in ("rocm", "torch", "python"):
            found += [Found(known[glued["name"]][0], glued["version"], False)]
        place += size
    if {"or", "vs", "versus"}.isdisjoint(words):
        found = [one for one in found if one.version or one.entry.of not in _GENERAL] or found
    found = _join_release(found)
    by_name = (gfx for one in mentions if len(one.gfx) == 1 for gfx in one.gfx)
    targets = list(dict.fromkeys((*by_name, *(word for word in words if word in matrix.gfx))))
    libraries = [one for one in found if one.entry.kind == "library"]
    if libraries and len(targets) <= 1:
        others = [one for one in found if one.entry.kind not in ("library", "system") and not targets]
        return list(dict.fromkeys(one._replace(gpu="".join(targets)) for one in libraries)) + others
    gpus = [Found(Entry("gpu", gfx, gfx, ", ".join(matrix.gfx[gfx].names[:3])), sure=False) for gfx in targets]
    others = [one for one in dict.fromkeys(found) if len(gpus) != 1 or one.entry.kind in ("diagnosis", "variable")]
    return gpus + others


def _join_release(found: list[Found]) -> list[Found]:
    """One torch and one ROCm, each with its version, are a build."""
    versions = {one.entry.kind: one.version for one in found}
    if len(found) != 2 or not versions.get("torch") or not versions.get("rocm"):
        return found
    torch = next(one for one in found if one.entry.kind == "torch")
    return [torch._replace(version=f"{versions['torch']}+rocm{versions['rocm']}")]


def _find_words(words: list[str], matrix: Matrix) -> tuple[list[Found], list[Found]]:
    """The entries with all these words in their name, and the others that have them in name or description. Words of one letter
    do not count; a GPU's product must have them as whole words."""
    wanted = [word for word in words if len(word) > 1]
    named: dict[tuple[str, str], Found] = {}
    told: dict[tuple[str, str], Found] = {}
    known = index(matrix)
    for entry in known.entries if wanted else ():
        name = fold(entry.name)
        # `nan` is not an R9 Nano: a product is named by whole words.
        within = name.split("-") if entry.kind == "gpu" and entry.name != entry.of else name
        if all(word in within for word in wanted):
            # A name of several GPUs is replaced by the target.
            own = entry._replace(name=entry.of) if len(known.by_name[key(entry.name)]) > 1 else entry
            named.setdefault(entry[:2], Found(own, sure=False))
        elif all(word in f"{name}-{fold(entry.words)}" for word in wanted):
            told.setdefault(entry[:2], Found(entry, sure=False))
    return list(named.values()), list(told.values())


def nearest_names(text: str, matrix: Matrix, most: int = 3) -> list[str]:
    """The names that have most of its words, then those that are spelt most like it; none for a text longer than every name."""
    if len(fold(text).split("-")) > LONGEST:
        return []
    known = index(matrix)
    words = [word for word in fold(text).split("-") if len(word) > 3]
    shared = {one.name: sum(word in f"{fold(one.name)}-{fold(one.words)}" for word in words) for one in known.entries}
    best = sorted(filter(shared.get, shared), key=lambda name: -shared[name])
    near = [known.by_name[one][0].name for one in difflib.get_close_matches(key(text)[:60], known.by_name, most, 0.6)]
    far = [known.by_name[one][0].name for one in difflib.get_close_matches(key(text)[:60], known.by_name, most, 0.0)]
    return list(dict.fromkeys((*near, *best, *far)))[:most]
