"""What a repository says of AMD GPUs in files that no reader reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Setting
from rocm_doctor.lint.environments.words import cards
from rocm_doctor.lint.readers.files import Tree, quoted

_HINTS = (b"rocm", b"radeon", b"amd", b"gfx", b"hip", b"mi2", b"mi3", b"kfd", b"directml")
_OF_AMD = rb"(?i:\brocm|radeon|amdgpu|\bamd (?:gpu|instinct))|\bgfx(?:9|10|11|12)\d|torch\.version\.hip|\bHIP_|hipcc|\bMI[23]\d\d[AX]?\b"


def speaks_of_amd(text: str) -> bool:
    """True if a text speaks of AMD GPUs."""
    return re.search(_OF_AMD, text.encode()) is not None


# What only an environment for AMD GPUs has.
_NEEDED = rb"/dev/kfd|whl/(?:nightly/|test/)?rocm|rocm/(?:pytorch|vllm|dev-ubuntu)|repo\.radeon\.com/rocm|\.amd\.com/(?:rocm|v2)|TheRock/|\+rocm\d|torch[-_]directml"
_NEEDED_ON_WINDOWS = (
    rb"rocm/windows|rocm[^\n]{0,120}win_amd64|win_amd64[^\n]{0,120}rocm|rocm\.nightlies\.amd\.com|repo\.amd\.com/rocm/whl"
)


def mention(tree: Tree) -> Place | None:
    """The first place that speaks of AMD GPUs."""
    return tree.mention(re.compile(_OF_AMD), _HINTS)


def needed(tree: Tree, read: Set[str]) -> Place | None:
    """The first place with what only an environment for AMD GPUs has, outside of the files that were read."""
    return tree.mention(re.compile(_NEEDED), _HINTS, read)


def needed_on_windows(tree: Tree, read: Set[str]) -> Place | None:
    """The same for one on Windows."""
    return tree.mention(re.compile(_NEEDED_ON_WINDOWS), (b"rocm", b"radeon"), read)


# What decides for which GPUs something is, wherever it is written: an address, an image, a build, or a value that a variable is given.
_GIVEN = rb"[\"'\])]*[ \t]*(?:=|:|,)[ \t]*[\"']?"
_DECIDES = (
    _NEEDED + rb"|whl/(?:nightly/|test/)?cu\d|\bnvidia/cuda:|\bnvidia-[a-z-]+-cu1\d|\+cu1\d\d"
    rb"|\bHSA_OVERRIDE_GFX_VERSION" + _GIVEN + rb"\d|\b(?:HIP|ROCR|CUDA)_VISIBLE_DEVICES" + _GIVEN + rb"(?:[1-9-]|all\b)"
    rb"|\b(?:PYTORCH_ROCM_ARCH|AMDGPU_TARGETS|GPU_TARGETS|CMAKE_HIP_ARCHITECTURES|GPU_ARCHS)" + _GIVEN + rb"gfx"
)
_PROGRAMS = regex(r"(?<!\.md)(?<!\.rst)(?<!\.adoc)(?<!\.html)$", re.I)
_SOURCES = regex(r"\.(?:cu|cuh|hip|hip\.cpp|cl)$", re.I)


def beyond(tree: Tree, read: Set[str]) -> Place | None:
    """The first place, outside of documents and of the files that were read, with what decides for which GPUs something is; else the first source of code for GPUs."""
    hints = (b"rocm", b"cu1", b"cuda", b"hsa_", b"hip", b"rocr_", b"kfd", b"radeon", b"amd", b"gpu_", b"directml")
    if place := tree.mention(re.compile(_DECIDES), hints, read, only=_PROGRAMS):
        return place
    source = next((path for path in tree.paths() if _SOURCES.search(path)), "")
    return Place(source, 0) if source else None


# A cluster's modules with ROCm, and its GPUs of AMD.
_LOADED = (
    rb"(?im:^[ \t]*(?:module[ \t]+(?:load|add|swap)|ml)[ \t][^\n]{0,200}\b(?:rocm|hip)\b)"
    rb"|(?im:^#SBATCH[ \t][^\n]{0,80}(?:\bmi(?:50|60|100|2\d\dx?|3\d\dx?)\b|\brocm|\bamd-?gpu|--partition[= ](?:standard|small|dev)-g\b))"
)


def loaded(tree: Tree) -> Place | None:
    """The first place that loads a module with ROCm, or asks a scheduler for GPUs of AMD: the cluster brings that environment."""
    return tree.mention(re.compile(_LOADED), (b"#sbatch", b"module", b"rocm"))


_READMES = ("README.md", "readme.md", "README.rst")
# A title, with the first paragraph of prose below it: no badge, list, table, or code.
_BEGINNING = regex(
    r"(?:^#+[ \t]+(?P<title>\S.*)$|^(?P<underlined>\S.*)\n[=*]{3,}[ \t]*$)"
    r"(?:\n(?:[ \t]*(?:$|[\[!<>|*\-`].*$)))*(?P<paragraph>\n[^\W\d_][^\n]*(?:\n(?![ \t]*(?:$|[#|<!*`-]))[^\n]+){0,6})?", re.M
)  # fmt: skip


def beginning(tree: Tree) -> Setting | None:
    """The title of the README or its first paragraph, or else the name of the repository's folder: the first of them that names GPUs."""
    if found := beginning_of(tree, ""):
        return found
    return Setting("name", tree.root.name, Place("", 0)) if cards(tree.root.name) else None


def beginning_of(tree: Tree, folder: str) -> Setting | None:
    """The title of the README of a folder, or its first paragraph, where that names GPUs."""
    for name in _READMES:
        path = f"{folder}/{name}".lstrip("/")
        found = _BEGINNING.search(tree.text_if_there(path) or "")
        for part, what in (("title", "title"), ("underlined", "title"), ("paragraph", "first paragraph")):
            if found and (named := cards(found[part] or "")):
                at = found.string.count("\n", 0, found.start(part) + (part == "paragraph")) + 1
                words = " ".join(found[part].split())
                return Setting(what, words, Place(path, at, quoted(words)), gfx=named)
    return None


_OTHER_WAY = regex(r"(?<![a-z])(?:zluda|directml)(?![a-z])", re.I)
_OWN_WAY = regex(r"rocm|(?<![a-z])hip(?![a-z])", re.I)


def other_way(tree: Tree) -> Setting | None:
    """The title of the README or the name of the repository's folder, where that names another way to AMD's GPUs, and ROCm in neither."""
    titles = [Setting("name", tree.root.name, Place("", 0))]
    for name in _READMES:
        if found := _BEGINNING.search(tree.text_if_there(name) or ""):
            title = found["title"] or found["underlined"] or ""
            titles.append(Setting("title", title, Place(name, found.string.count("\n", 0, found.start()) + 1, quoted(title))))
    if any(_OWN_WAY.search(one.value) for one in titles):
        return None
    return next((one for one in titles if _OTHER_WAY.search(one.value)), None)


_TELLS = regex(r"pytorch\.org/get-started|\binstall(?:ing)?\W{1,4}(?:the )?(?:appropriate |right |correct )?\[?PyTorch", re.I)


def told_first(tree: Tree) -> Place | None:
    """Where the README has its reader install PyTorch as its own instructions say, which offer ROCm."""
    for name in ("README.md", "README.rst", "INSTALL.md", "docs/INSTALL.md"):
        text = tree.text_if_there(name)
        if text and (found := _TELLS.search(text)):
            line = text.count("\n", 0, found.start())
            return Place(name, line + 1, quoted(text.splitlines()[line]))
    return None


_TELLS_ROCM = (
    rb"(?i:install\b[^\n]{0,160}(?:whl/(?:nightly/|test/)?rocm|repo\.radeon\.com|\.amd\.com/)[^\n]{0,80}\btorch\b)"
    rb"|(?i:install\b[^\n]{0,160}\btorch\b[^\n]{0,160}(?:whl/(?:nightly/|test/)?rocm|repo\.radeon\.com|\.amd\.com/))"
    rb"|(?i:\b(?:use|take|install|needs?|requires?|with)\b[^.\n]{0,40}\bROCm(?:-enabled)? (?:build of )?(?:Py)?Torch\b)"
)


def told_rocm(tree: Tree, environments: Iterable[Environment]) -> Place | None:
    """Where a text or a comment has its reader take a ROCm torch, of which a list or an extra for AMD names no index."""
    lists = (e for e in environments if e.purpose.kind == "amd" and e.sort in ("requirements", "project"))
    if all(step.indexes for e in lists for step in e.steps):
        return None
    return tree.mention(re.compile(_TELLS_ROCM), (b"rocm", b"radeon"))
