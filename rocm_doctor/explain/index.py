"""What words name: an index of every name in the catalog, made once for a matrix."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import FAMILIES
from rocm_doctor.matrix import Matrix

Kind = Literal["gpu", "diagnosis", "row", "variable", "library", "torch", "rocm", "python", "driver", "system"]
_OTHER = regex(r"[^a-z0-9.+*]+")
_FEATURE, _SERVING = "PyTorch feature: ", "Serving: "


class IndexEntry(NamedTuple):
    """One name: the kind of thing, which one it is (`of`: the target of a product, the folded name of a library), and it in one line."""

    kind: Kind
    of: str
    name: str
    words: str = ""


class NamedThing(NamedTuple):
    """What a text names. `sure`: the text is nothing but the name. `gpu`: the target that the text names as well."""

    entry: IndexEntry
    version: str = ""
    sure: bool = True
    gpu: str = ""

    @property
    def query(self) -> str:
        """What to type behind `explain`."""
        return shlex.quote(" ".join(filter(None, (self.entry.name, self.version, self.gpu))))


@lru_cache(1 << 12)
def fold(text: str) -> str:
    """A name in small letters with dashes between its words, so that case, blanks and underscores make no difference."""
    return _OTHER.sub("-", text.strip().strip("`'\"").lower()).strip("-")


def key(text: str) -> str:
    """What the index holds a name under: folded, without dashes (`FlashAttention` and `flash attention` are one name)."""
    return fold(text).replace("-", "")


class NameIndex(NamedTuple):
    """Entries by the key of their name, and all of them in the order in which they are offered."""

    by_name: dict[str, list[IndexEntry]]
    entries: tuple[IndexEntry, ...]


def index(matrix: Matrix) -> NameIndex:
    """The index of a matrix."""
    return matrix.once(_index)


def _index(matrix: Matrix) -> NameIndex:
    by_name: dict[str, list[IndexEntry]] = {}
    entries = tuple(_entries(matrix))
    for entry in entries:
        same = by_name.setdefault(key(entry.name), [])
        # Two kinds of one name are one page, that of the first: the page of a library has the rows about it.
        if all(entry.kind == other.kind and entry.of != other.of for other in same):
            same.append(entry)
    for synonym in matrix.synonyms:
        meant = [e for name in synonym.see for e in by_name.get(key(name), ())]
        by_name |= {key(name): meant for name in synonym.names if meant}
    return NameIndex(by_name, entries)


def _entries(matrix: Matrix) -> Iterator[IndexEntry]:
    for target in matrix.gfx.values():
        words = f"{', '.join(target.names[:3]) or target.codename} ({target.family})"
        yield IndexEntry("gpu", target.gfx, target.gfx, words)
        names = (*target.names, *target.codename.split(" / "), *(processor.strip("* ") for processor in target.processors))
        yield from (IndexEntry("gpu", target.gfx, name, f"{target.gfx} ({target.family})") for name in names if "?" not in name)
    yield from (IndexEntry("diagnosis", diagnosis.id, diagnosis.id, diagnosis.title) for diagnosis in matrix.diagnoses.values())
    for variable in matrix.env.values():
        yield from (IndexEntry("variable", variable.name, name, variable.effect) for name in (variable.name, *variable.also))
    yield from (IndexEntry("torch", "torch", name, "its builds for ROCm") for name in ("torch", "PyTorch"))
    yield IndexEntry("rocm", "rocm", "ROCm", "its releases")
    yield IndexEntry("python", "python", "Python", "the versions that torch has builds for")
    yield from (IndexEntry("driver", "amdgpu", name, "the kernel driver") for name in ("amdgpu", "driver", "amdgpu driver"))
    for name in ("Linux", "Windows", "WSL", "WSL2"):
        yield IndexEntry("system", name.lower().rstrip("2"), name, "what ROCm and torch need on it")
    for name in (name for several in FAMILIES.values() for name in several):
        yield IndexEntry("system", name, name.title() if len(name) > 4 else name.upper(), "the ROCm releases that name it")
    yield from _libraries(matrix)
    yield from (IndexEntry("row", row.key, name, row.title) for row in matrix.rows for name in (row.key, *row.aliases))
    yield from (
        IndexEntry("row" if new in matrix.by_key else "diagnosis", new, old, f"now {new}")
        for old, new in matrix.retired.items()
        if new
    )


def _libraries(matrix: Matrix) -> Iterator[IndexEntry]:
    """Packages, parts of ROCm, programs, images and features of torch: everything that statements are about by its name."""
    taken = {key(name) for name in ("linux", "windows", "wsl", "rocm", "pytorch", "torch", "python", "amdgpu driver", "")}
    programs = {
        name: f"{app.title}, a program that runs on the GPU" for app in matrix.applications for name in (app.title, *app.names)
    }
    described = {key(name): words for name, words in (*programs.items(), *_descriptions(matrix))}
    words_of: dict[str, str] = {}
    for name in (*_subjects(matrix), *(name for name, _ in _descriptions(matrix))):
        bare = name.partition("[")[0]
        words_of.setdefault(key(bare), bare)
    for at, name in words_of.items():
        if at not in taken:
            yield IndexEntry("library", fold(name), name, described.get(at, "what is known of it"))
    for application in matrix.applications:
        names = (name for name in dict.fromkeys((application.title, *application.names)) if key(name) not in words_of)
        yield from (IndexEntry("library", fold(application.names[0]), name, programs[name]) for name in names)


def _descriptions(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """(name, what it is); of two descriptions of a name the later counts."""
    yield from ((image["name"], "an image") for image in matrix.plain("images") or () if "/" in image["name"])
    for entry in matrix.plain("requires_torch") or ():
        yield from ((name, "a package that brings torch as a dependency") for name in entry["packages"])
    for program in matrix.programs.values():
        if any("rocm" in source.lower() for source in program.sources):
            yield program.name, f"a program of the package {program.package}"
    for entry in matrix.plain("cuda_only") or ():
        if "[" not in entry["name"]:
            yield entry["name"], f"its wheels on the package index are for {entry.get('wheels', 'CUDA')}"
    yield from ((package["name"], package["what"]) for package in matrix.plain("packages") or ())


def _subjects(matrix: Matrix) -> Iterator[str]:
    """Names that statements, rows and diagnoses are about."""
    for fact in matrix.facts:
        subject = fact.subject.removeprefix(_FEATURE)
        if subject != fact.subject:
            yield subject
        elif subject.startswith(_SERVING):
            yield subject.removeprefix(_SERVING).partition(",")[0]
        else:
            yield from re.split(r",? and |, ", subject.partition(" (")[0])
    yield from (name.removeprefix("pkg.") for row in matrix.rows for name in row.when if name.startswith("pkg."))
    yield from (name.removeprefix("lib.") for name in matrix.diagnoses if name.startswith("lib."))
    yield from matrix.extensions


def matches_release(release: str, asked: str) -> bool:
    """True if a release is the one asked for, or of that series."""
    return release == asked or release.startswith((f"{asked}.", f"{asked}+", f"{asked}-"))
