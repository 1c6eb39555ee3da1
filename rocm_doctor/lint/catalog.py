"""What the catalog of the matrix says of images, indexes, packages and lists of build targets, in the form that the rules ask for."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

import msgspec

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import LintTarget, PackageIndex
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import TorchBuild
from rocm_doctor.model import Grade

Vendor = str
"""rocm, cuda, cpu, pypi (the public package index), none (it has no torch), or unknown."""


class Source(NamedTuple):
    """What an index has. `vendor`: whose builds of torch; `rocm`: the release that its address names; `gpus`: the GPUs or
    families that it is for alone; `nightly`: it has nightly builds."""

    vendor: Vendor
    rocm: str = ""
    gpus: tuple[str, ...] = ()
    nightly: bool = False


_PYTORCH = regex(r"https?://download\.pytorch\.org/whl/(?:(nightly|test)/)?(rocm([\d.]+)|cu\d+|cpu|xpu)")
_MANYLINUX = regex(r"https?://repo\.radeon\.com/rocm/manylinux/rocm-rel-([\d.]+)")
_FAMILY = regex(r"/(gfx[0-9]{2,}[0-9a-fX]*)(?:-[\w-]+)?(?:/|$)")
_PYPI = regex(
    r"https?://(?:[\w.-]+@)?(?:pypi\.org|(?:test\.)?pypi\.python\.org|[^/]*(?:mirror|tuna|aliyun|tencent|ustc|huaweicloud|bfsu|douban)[^/]*)/(?:\S*pypi|simple)"
)
_NO_TORCH = regex(r"https?://(?:pypi\.nvidia\.com|pypi\.ngc\.nvidia\.com|huggingface\.co|flashinfer\.ai|wheels\.vllm\.ai)")


def classify_index(index: PackageIndex) -> Source:
    """What an index has of torch, by its address."""
    url = index.url.strip().strip("'\"")
    nightly = "night" in url
    if match := _PYTORCH.match(url):
        kind = "rocm" if match[3] else "cpu" if match[2] in ("cpu", "xpu") else "cuda"
        return Source(kind, (match[3] or "").strip("."), nightly=bool(match[1]))
    if match := _MANYLINUX.match(url):
        return Source("rocm", match[1].strip("."))
    if match := _FAMILY.search(url):
        return Source("rocm", "", (match[1],), nightly)
    if _NO_TORCH.match(url):
        return Source("none")
    if _PYPI.match(url):
        return Source("pypi")
    return Source("rocm" if "rocm" in url and "amd.com" in url else "unknown", nightly=nightly)


PYPI = Source("pypi")


def serves_family(family: str, gfx: str) -> bool:
    """True if an index for `gfx110X` or `gfx1151` has code for a GPU."""
    pattern = family[:-1].lower() + "[0-9a-f]" if family[-1:] in "xX" else re.escape(family.lower())
    return re.fullmatch(pattern + (r"[0-9a-f]?" if len(family) == 5 else ""), gfx) is not None


def _serves_python(build: TorchBuild, python: str) -> bool:
    """True if a build has a wheel for a Python; true where either of them is not known."""
    return not python or not build.pythons or ".".join(python.split(".")[:2]) in build.pythons


def list_builds(matrix: Matrix, rocm: str, specifier: str = "", python: str = "") -> list[TorchBuild]:
    """Builds of torch on PyTorch's index of a ROCm release, newest first; none where no release is named."""
    on_index = [b for b in matrix.torch if rocm and b.index.rstrip("/").endswith(f"/rocm{rocm}")]
    fit = [b for b in on_index if admits(specifier, b.torch) and _serves_python(b, python)]
    return sorted(fit, key=lambda b: versions.sort_key(b.torch), reverse=True)


def newest_torch(matrix: Matrix, specifier: str, python: str = "") -> str:
    """The newest release of torch in the catalog that a specifier and a Python admit; empty for none."""
    torches = {b.torch for b in matrix.torch if versions.parse(b.torch) and _serves_python(b, python)}
    return max((v for v in torches if admits(specifier, v)), key=versions.sort_key, default="")


@lru_cache(4096)
def admits(specifier: str, version: str) -> bool:
    """True if a public version is in a range; a range that cannot be read admits everything."""
    try:
        return not specifier or versions.contains(re.sub(r"\+[\w.]+", "", specifier), version) is not False
    except ValueError:
        return True


def pinned_version(specifier: str) -> str:
    """The version of `==X`, without its local part; empty for a range."""
    pin = re.fullmatch(r"={2,3}\s*([\w.!]+?)(\+[\w.]+)?", specifier.strip())
    return pin[1] if pin and not pin[1].endswith(".*") else ""


def local_build(specifier: str, url: str = "") -> tuple[str, str] | None:
    """The vendor and the ROCm release that a local version (`+rocm6.4`, `+cu126`) or the address of a wheel names."""
    match = _LOCAL.search(specifier) or _LOCAL.search(url.replace("%2B", "+")) or _WHEEL_FOLDER.search(url)
    if not match:
        return None
    tag = match[1]
    return ("rocm", tag[4:].strip(".")) if tag.startswith("rocm") else ("cpu", "") if tag == "cpu" else ("cuda", "")


_LOCAL = regex(r"\+(rocm[\d.]*|cu\d+|cpu)")
_WHEEL_FOLDER = regex(r"/whl/(rocm[\d.]+|cu\d+|cpu)/")


def applies(marker: str, target: LintTarget) -> bool:
    """True if a marker holds on the target, if there is none, or if it cannot be judged."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    windows = target.os == "windows"
    variables = {"sys_platform": "win32" if windows else "linux", "platform_system": "Windows" if windows else "Linux",
             "platform_machine": "x86_64", "os_name": "nt" if windows else "posix", "extra": ""}  # fmt: skip
    if target.python:
        variables |= {"python_version": ".".join(target.python.split(".")[:2]), "python_full_version": target.python}
    try:
        return Marker(marker).evaluate(variables)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


class ImageEntry(msgspec.Struct, frozen=True):
    """An image of catalog/images.yaml. `amd`: words of the tags that use AMD GPUs (empty: no tag does); `way`: the image for AMD
    GPUs; `holds`: what the other tags have; `torch`: whose torch it brings (empty: it brings none)."""

    name: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    amd: tuple[str, ...] = ()
    way: str = ""
    holds: str = "a CUDA build"
    torch: str = "cuda"


class ImageFacts(NamedTuple):
    """What the literal name of an image says. `torch`: rocm, cuda, none, or empty where it is not known; `rocm`, `version` (of
    torch) and `python` are empty where the name has none; `entry`: that of the catalog."""

    torch: str
    rocm: str = ""
    version: str = ""
    python: str = ""
    entry: ImageEntry | None = None


_ROCM = regex(r"rocm[-_]?(\d+\.\d+(?:\.\d+)?)", re.I)
_TORCH = regex(r"(?:pytorch|torch)(?:_release)?[-_]?(\d+\.\d+(?:\.\d+)?)", re.I)
_HAS_TORCH = regex(r"torch|vllm|sglang|sgl")
_PYTHON = regex(r"py(?:thon)?[-_]?(3\.\d+)", re.I)


def image_facts(name: str, matrix: Matrix) -> ImageFacts:
    """What is known of an image by its name and the catalog."""
    repository, _, tag = name.lower().removeprefix("docker.io/").removeprefix("library/").partition("@")[0].partition(":")
    entry = next((e for e in matrix.section("images", ImageEntry) if fnmatchcase(repository, e.name)), None)
    rocm = _ROCM.search(tag) or _ROCM.search(repository) or (_VERSION.match(tag) if repository.startswith("rocm/dev") else None)
    torch = _TORCH.search(tag)
    python = _PYTHON.search(tag) or (_VERSION.match(tag) if repository == "python" else None)
    if entry is None:
        words = f"{repository} {tag}"
        vendor = "rocm" if "rocm" in words and _HAS_TORCH.search(words) else ""
    else:
        vendor = "rocm" if entry.torch == "rocm" or any(word in tag for word in entry.amd) else entry.torch
    cuda_version = _VERSION.match(tag) if vendor == "cuda" and repository == "pytorch/pytorch" else None
    release, version, version_of_python = (match[1] if match else "" for match in (rocm, torch or cuda_version, python))
    return ImageFacts(vendor, release, version, version_of_python, entry)


_VERSION = regex(r"(\d+\.\d+(?:\.\d+)?)")


class Library(msgspec.Struct, frozen=True):
    """A library of the catalog's `libraries` that is built for named GPUs. `packages`: the names it is installed by; `gfx`: the
    GPUs that it may serve (empty: all); `variable`: the list of GPUs that its build takes; `wheel`: it usually comes as a wheel,
    for which the variable says nothing."""

    name: str
    packages: frozenset[str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    gfx: tuple[str, ...] = ()
    variable: str = ""
    wheel: bool = False
    repository: str = ""
    accepted: tuple[msgspec.Raw, ...] = ()


class CudaOnly(msgspec.Struct, frozen=True):
    """A package of the catalog's `cuda_only`: its wheels on the package index have no code for AMD GPUs. `wheels` is what they
    have instead. `way` is how to have the package on ROCm. `through` are the packages that require it. `unless`: beginnings of
    the names of packages that bring code for AMD GPUs; it is accepted beside one of them. `alone`: it is judged only where no
    torch is installed. `switch`: the variable that makes it build for ROCm; it is accepted where that is set. `framework`: it is
    what an environment trains with, and is judged whatever index is named."""

    name: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    way: str = ""
    through: tuple[str, ...] = ()
    wheels: str = "CUDA"
    unless: tuple[str, ...] = ()
    alone: bool = False
    switch: str = ""
    framework: bool = False


class OtherSystem(msgspec.Struct, frozen=True):
    """A name of the catalog's `other_systems` that pip does not find on Linux. `systems`: those that have wheels (empty: the
    index has no project of that name). `other`: what the project of that name is, if another one is meant; `way`: what to ask
    for."""

    name: str
    systems: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    way: str = ""
    other: str = ""


class RequiresTorch(msgspec.Struct, frozen=True):
    """An entry of the catalog's `requires_torch`: `packages` that require torch. `torch`: exact or range; `newest`: what the
    newest release requires (none: no torch); `pins`: the one torch that a release requires, by release; `through`: the package by
    which they require it."""

    name: str
    torch: str
    packages: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    newest: str = ""
    pins: dict[str, str] = {}
    through: str = ""


def brings_torch(matrix: Matrix) -> dict[str, RequiresTorch]:
    """The packages whose newest release requires torch, by name."""
    entries = matrix.section("requires_torch", RequiresTorch)
    return {name: entry for entry in entries for name in entry.packages if entry.newest != "none"}


def replacing_torch(matrix: Matrix) -> frozenset[str]:
    """The packages whose newest release requires one torch, or has an upper bound on it: pip replaces a newer one by it."""
    every = brings_torch(matrix).items()
    return frozenset(
        n for n, torch in every if torch.torch == "exact" and (not torch.newest or "<" in torch.newest or "==" in torch.newest)
    )


_LIST_NAME = regex(
    r"(?:^|_)(?:GFX\w*|(?:ROCM_|GPU_|HIP_)?ARCHS?|(?:AMD)?GPU_TARGETS?|TARGETS|HIP_ARCHITECTURES)$|^--(?:offload-arch|amdgpu-target)$",
    re.I,
)
_LIST = regex(r"gfx[0-9a-f]+(?:-generic)?(?::[a-z+:-]+)*(?:[;,\s]+gfx[0-9a-f]+(?:-generic)?(?::[a-z+:-]+)*)*[;,]?", re.I)


def build_list(name: str, value: str) -> tuple[str, ...]:
    """The targets of a list that a build is given, without their features; empty for a variable that is not such a list."""
    if not _LIST_NAME.search(name) or not _LIST.fullmatch(value.strip()):
        return ()
    return tuple(target.partition(":")[0].lower() for target in re.split(r"[;,\s]+", value.strip()) if target)


def includes(targets: tuple[str, ...], gfx: str, override: str = "") -> bool:
    """True if code that is built for these targets loads on a GPU, by itself or as the one that an override names."""
    return covers(targets, gfx) is not False or bool(override and covers(targets, gfx, override))
