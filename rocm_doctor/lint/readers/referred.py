"""Where the texts of a repository name its other files, and for which GPUs a file or a folder is by its first words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.lint.declared import Environment, Place, Reference, Setting
from rocm_doctor.lint.environments.purpose import INSTALLING
from rocm_doctor.lint.environments.words import cards, named, words_of
from rocm_doctor.lint.readers.files import Tree, folder_of, quoted
from rocm_doctor.lint.readers.unread import beginning_of, speaks_of_amd

MAX_FOUND = 2_000
MAX_FILES = 200
"""Files of environments that are looked for in the others."""
_NEAR = 2_000
_SORTS = ("requirements", "image", "script", "service", "conda")


def files(environments: Iterable[Environment]) -> list[str]:
    """The files of the environments for AMD that somebody has to name to use them."""
    amd = (e for e in environments if e.purpose.kind == "amd" and e.sort in _SORTS)
    return list(itertools.islice(dict.fromkeys(e.place.file for e in amd), MAX_FILES))


def references(tree: Tree, environments: Iterable[Environment]) -> tuple[Reference, ...]:
    """Where another text of the repository names the file of an environment for AMD, by its name or by its folder with a pattern."""
    by_name: dict[bytes, list[str]] = {}
    for file in files(environments):
        folder, _, name = file.rpartition("/")
        parts = folder.split("/") if folder else []
        more = 1 if parts and _WORD.match(name) else 0
        by_name.setdefault("/".join((*parts[len(parts) - more :], name)).encode(), []).append(file)
        if folder:
            by_name.setdefault("/".join(parts[-1 - more :]).encode() + b"/", []).append(file)
    if not by_name:
        return ()
    names = (sorted((one for one in by_name if one.endswith(b"/") is folder), key=len, reverse=True) for folder in (False, True))
    file_, folder_ = (b"|".join(map(re.escape, one)) or b"(?!)" for one in names)
    # A folder is named with what is in it where a pattern or a variable follows, and in a document.
    pattern = re.compile(
        rb"(?<![\w.-])(?:(?:" + file_ + rb")(?![\w-])(?!\.\w)|(?:" + folder_ + rb")(?:(?=[\w.-]*[*${<])|(?P<alone>(?![\w.-]))))"
    )
    found: list[Reference] = []
    for place, m in itertools.islice(tree.mentions(pattern, tuple(name.lower() for name in by_name)), MAX_FOUND):
        if m["alone"] is None or _DOCUMENT.search(place.file):
            found += (Reference(file, place, _how(place, m[0])) for file in by_name[m[0]] if file != place.file)
    return tuple(dict.fromkeys(found))


# A script that is called by a plain word is meant where the folder above stands with it.
_WORD = regex(r"[a-z]+$")

# A list that a folder of a project holds is the project's.
_OF_A_PROJECT = ("readme*", "pyproject.toml", "setup.py", "setup.cfg", "package.json", "cargo.toml", "license*")


def unnamed(tree: Tree, environments: Iterable[Environment], references: Iterable[Reference]) -> tuple[str, ...]:
    """The lists and scripts for AMD that no text of the repository names, and that lie where nobody looks for them: not at the root, in a folder of
    what installs a project or is for AMD, nor in that of a project.
    """
    used = {r.file for r in references if r.how != "writes"}
    return tuple(
        file
        for file in files(e for e in environments if e.sort in ("requirements", "script", "conda"))
        if file not in used and _LOOSE.search(file) and "/" in file and not _is_usual(tree, file)
    )


_LOOSE = regex(r"(?:^|/)[^./]+$|\.(?:sh|bash|zsh|bat|cmd|ps1|txt|in|ya?ml)$", re.I)


def _is_usual(tree: Tree, file: str) -> bool:
    """True if readers look for a list or script where it lies; for a list that is called by AMD's hardware, wherever that is."""
    folder, _, name = file.rpartition("/")
    if name.endswith((".txt", ".in")) and named(name)[0] == "amd":
        return True
    if any(INSTALLING.intersection(words_of(part)) or named(part)[0] == "amd" for part in folder.split("/")):
        return True
    there = [path.rpartition("/")[2].lower() for path in tree.matching(f"{folder}/*")]
    return any(fits(one, glob) for one in there for glob in _OF_A_PROJECT)


_BUILDS = regex(r"\b(?:docker|podman|nerdctl|buildah)(?:[- ]compose)?[^\n`]{0,80}\b(?:build|up|bud)\b", re.I)


def documented(tree: Tree, environments: Iterable[Environment]) -> tuple[str, ...]:
    """The images for AMD that a document of their folder, of one above it, or of `docs` has its readers build, where it speaks of AMD's GPUs."""
    built = dict.fromkeys(e.place.file for e in environments if e.purpose.kind == "amd" and e.image is not None)
    guides = _Guides(tree)
    return tuple(
        file
        for file in itertools.islice(built, MAX_FILES)
        if any(_has_built(*one, file) for folder in (*_above(folder_of(file)), "", "docs") for one in guides[folder])
    )


class _Guides(dict[str, list[tuple[str, str]]]):
    """By folder, its documents that speak of AMD GPUs, with their texts."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __missing__(self, folder: str) -> list[tuple[str, str]]:
        paths = self.tree.matching(f"{folder}/*.md") + self.tree.matching(f"{folder}/*.rst")
        texts = ((path, self.tree.text_if_there(path) or "") for path in paths)
        self[folder] = [(path, text) for path, text in texts if speaks_of_amd(text)]
        return self[folder]


_GIVEN = re.compile(
    rb"(?:docker|podman)[^\n`]*\s(?:-f|--file)[= ]+[\"']?([\w./-]+)(?![\w$*{<])|\bpip[^\n`]*\s(?:-r|--requirement)[= ]+[\"']?([\w./-]+)(?![\w$*{<])"
)


def lost(tree: Tree) -> Place | None:
    """Where a document gives a command a file for AMD, by its name, that the repository does not have; None where none does."""
    for place, m in itertools.islice(tree.mentions(_GIVEN, (b"docker", b"podman", b"pip"), only=_DOCUMENT), MAX_FOUND):
        file = (m[1] or m[2]).decode().removeprefix("./")
        name = file.rpartition("/")[2]
        if named(name)[0] == "amd" and not (tree.exists(file) or tree.has(name)):
            return place
    return None


def _has_built(document: str, text: str, file: str) -> bool:
    folder, _, name = file.rpartition("/")
    by_default = folder_of(document) in (folder, "") and name.lower() == "dockerfile" and _BUILDS.search(text) is not None
    return (by_default or name in text) and speaks_of_amd(text.replace(name, ""))


# What writes down the packages that are there, and what installs a list.
_WRITES = regex(r"\b(?:freeze|list|export)\b[^\n]*(?:>|\btee\b)", re.I)
_INSTALLS = regex(r"\b(?:install|sync|create|update|restore)\b|(?:^|\s)-r\b|--requirement|--file", re.I)
_DOCUMENT = regex(r"\.(?:md|rst|txt|adoc|html|ipynb)$", re.I)


def _how(place: Place, name: bytes) -> Literal["writes", "installs", "tells", "names"]:
    if name.endswith(b"/"):
        return "names"
    if _WRITES.search(place.quote):
        return "writes"
    if _INSTALLS.search(place.quote):
        return "installs"
    return "tells" if _DOCUMENT.search(place.file) else "names"


def meant(tree: Tree, environments: Iterable[Environment]) -> tuple[Setting, ...]:
    """The GPUs that the head of a file names, and those that the title or first paragraph of the README of a folder does."""
    there = files(environments)
    heads = (_head(tree, file) for file in there)
    folders = dict.fromkeys(folder for file in there for folder in _above(folder_of(file)))
    readmes = (beginning_of(tree, folder) for folder in folders)
    return tuple(one for one in itertools.chain(heads, readmes) if one)


def _above(folder: str) -> Iterator[str]:
    """A folder and those above it, without the root."""
    while folder:
        yield folder
        folder = folder_of(folder)


# A comment, what is printed, or a line that only sets something: what comes before the first command.
_HEAD = regex(
    r"[ \t]*(?:(?:#|//|::|REM\b)(?P<comment>.*)|(?:echo|printf|write-host)\b(?P<printed>[^>|;&`]*)|set\b[^;&|]*"
    r"|[A-Za-z_]\w*=(?:'[^']*'|\"[^\"$`]*\"|[\w./-]*))?[ \t\r]*", re.I
)  # fmt: skip
_VALUE = regex(r"\$\{?\w+\}?")
# What does not say whom a file is for: what is left out, an example, one of several, or what was tried.
_OPEN = regex(
    r"\b(?:not?|never|without|except|unlike|unsupported|usage|examples?|e\.g|such as|etc|default|tested|verified|other|older|any|all|or newer|and more|and newer)\b"
    r"|n't\b|\d\+|\$",
    re.I,
)


def _head(tree: Tree, file: str) -> Setting | None:
    """The first line at the head of a file, a comment or what it prints, that says for which GPUs it is, with all that is named there."""
    lines = (tree.text_if_there(file) or "")[:_NEAR].split("\n")
    head = [m for m in itertools.takewhile(bool, (_HEAD.fullmatch(line) for line in lines)) if m]
    # A comment behind the first line that does something is about what follows it.
    top = next((at for at, m in enumerate(head) if m["comment"] is None and m[0].strip()), len(head))
    words = ((m["comment"] or "") if at < top else _VALUE.sub(" ", m["printed"] or "") for at, m in enumerate(head))
    said = [(at, one) for at, one in enumerate(words, 1) if cards(one)]
    first = next(((at, one) for at, one in said if not _OPEN.search(one)), None)
    if first is None:
        return None
    named = cards(" ".join(one for _, one in said))
    return Setting("head", " ".join(first[1].split()), Place(file, first[0], quoted(lines[first[0] - 1])), gfx=named)
