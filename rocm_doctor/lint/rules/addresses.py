"""What a package index holds, judged from its address: ROCm, CUDA or CPU builds of torch, the public package index, or not known."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Index

Build = Literal["rocm", "cuda", "cpu", "unknown", "none"]
_ROCM = regex(r"(?:^torch-backend:|[/_-])rocm-?(?:rel-)?(\d+\.\d+(?:\.\d+)?)(?:/|$)")
_AMD = regex(r"repo\.radeon\.com/rocm/|\.amd\.com/")
# AMD's folder of wheels for one release, which is not PyTorch's index of that number.
_RELEASE_OF_AMD = regex(r"repo\.radeon\.com/rocm/\w+/rocm-rel-(\d+\.\d+(?:\.\d+)?)")
# Whose releases the catalog lists: the PyTorch project with its mirrors, and AMD.
_LISTED = regex(r"pytorch|^torch-backend:|\.amd\.com/|radeon\.com/", re.I)
_CUDA = regex(r"(?:^torch-backend:|/)cu\d{2,3}(?:/|$)")
_CPU = regex(r"(?:^torch-backend:|/)cpu(?:/|$)")
_MIXED = regex(r"pytorch\.org/whl/?$|torch_stable\.html|/whl/(?:nightly|test)/?$|^torch-backend:auto")
# The page of such an address names folders, and --find-links reads the links to wheels on one page.
_ROOT = regex(r"download\.pytorch\.org/whl/(?:nightly/|test/)?(?:rocm[\d.]+|cu\d+|cpu)?/?$")
# The public package index: by its host, by a mirror whose host is called by its name and has its layout (pypi.tuna.tsinghua.edu.cn/simple), or
# by a path of that one name, as Nexus, Artifactory and devpi have it. Every other address is an index of its own, whatever words are in it.
_ADDRESS = regex(r"\w+://(?:[^/@]*@)?([^/:?#]*)(?::\d+)?([^?#]*?)/*(?:[?#].*)?$")
_PYPI = regex(
    r"(?:www\.)?pypi\.(?:org|python\.org)(?:/.*)?|pypi\.[^/]+/simple"
    r"|[^/]*/(?:.*/)?(?:pypi|pypi[._-](?:org|proxy|remote|mirror|cache|public))(?:/(?:web/|\+)?simple)?"
)


class Source(NamedTuple):
    """An index and what it holds of torch. `origin` is None for the package index that a tool asks by default."""

    build: Build
    rocm: str
    origin: Index | None

    @property
    def public(self) -> bool:
        """True for the public package index or a mirror of it."""
        return self.origin is None or is_pypi(self.origin.url)


def is_pypi(url: str) -> bool:
    """True if an address is that of the public package index or of a mirror of it."""
    found = _ADDRESS.match(url)
    return found is not None and _PYPI.fullmatch(found[1] + found[2]) is not None


def is_folder_of_amd(source: Source) -> bool:
    """True for AMD's folder of wheels for one ROCm release: what it has of torch is not all in the catalog."""
    return source.origin is not None and _RELEASE_OF_AMD.search(source.origin.url) is not None


def of_pytorch(index: Index | None) -> bool:
    """True for an index of the PyTorch project: all packages or those of one release of ROCm, CUDA or the CPU."""
    return index is not None and _ROOT.search(index.url) is not None


def source_of(index: Index, os: str) -> Source:
    """What an index holds of torch, by its address."""
    url = index.url.rstrip("/") + "/" if not index.url.startswith("torch-backend") else index.url
    if url == "torch-backend:auto" and os != "linux":
        return default_source(os)  # uv finds AMD GPUs on Linux only
    if m := _RELEASE_OF_AMD.search(url):
        return Source("rocm", m[1] if m[1].count(".") > 1 else f"{m[1]}.0", index)
    if m := _ROCM.search(url):
        # A nightly or test index changes daily, and one of others may hold builds of its own: it has what is asked for, as far as is known.
        listed = _LISTED.search(url) and "/nightly/" not in url and "/test/" not in url
        return Source("rocm", m[1] if listed else "", index)
    if _AMD.search(url):
        return Source("rocm", "", index)
    if _CUDA.search(url):
        return Source("cuda", "", index)
    if _CPU.search(url):
        return Source("cpu", "", index)
    if _MIXED.search(url.rstrip("/")) or not is_pypi(url):
        return Source("unknown", "", index)
    return default_source(os, index)


def holds_nothing(index: Index) -> bool:
    """True if --find-links is given the address of an index: its page has links to folders, and none to wheels."""
    return index.role == "find-links" and _ROOT.search(index.url) is not None


def default_source(os: str, index: Index | None = None) -> Source:
    """The public package index: its torch is a CUDA build on Linux and a CPU build on Windows and macOS."""
    return Source("cuda" if os == "linux" else "cpu", "", index)
