"""What torch the installers would take from the indexes that they are given.

pip looks at all of its indexes and takes the highest version, wherever it is; a local part (+rocm6.3) beats the same version
without one (https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages, PEP 440). uv takes a package from the first index
that has it, extra indexes first, unless the strategy is an `unsafe` one (https://docs.astral.sh/uv/concepts/indexes/).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Index, Place, Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import Build, Source, default_source, holds_nothing, is_folder_of_amd, of_pytorch, source_of
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import TorchBuild

_LOCAL = regex(r"\+(rocm[\w.]*|cu\d+|cpu)")
FAMILY = ("torch", "torchvision", "torchaudio")
"""What PyTorch's indexes have in one release each."""
_RANK = {"rocm": 2, "cuda": 1, "cpu": 0}


class Torch(NamedTuple):
    """The torch that an environment ends up with. `version` is public, `rocm` the release it was built for (both may be
    unknown).
    """

    build: Build
    version: str
    rocm: str
    place: Place
    why: str
    origin: Index | None = None
    explicit: bool = False

    @property
    def local(self) -> str:
        """The local part of torch's version."""
        return f"{self.version}+rocm{self.rocm}" if self.build == "rocm" and self.version and self.rocm else self.version


def sources(step: Step, package: str, target: Target) -> tuple[list[Source], bool]:
    """The indexes that the step's tool would ask for a package, in its order, and whether the first that has it settles it."""
    os = target.platform
    bound = [i for i in step.indexes if i.role == "bound" and package in i.only and applies(i.marker, target)]
    if bound:
        return [source_of(bound[-1], os)], True
    default = [source_of(i, os) for i in step.indexes if i.role == "default"][-1:] or [default_source(os)]
    more = [source_of(i, os) for i in step.indexes if i.role == "extra" or (i.role == "find-links" and not holds_nothing(i))]
    first = step.tool == "uv" and not step.strategy.startswith("unsafe")
    return (more + default if first else default + more), first


def wanted(step: Step, target: Target, name: str = "torch") -> list[Requirement]:
    """The step's requirements of a package that hold on the target, markers judged."""
    return [r for r in step.requirements if r.name == name and meant(r, target)]


def meant(r: Requirement, target: Target) -> bool:
    """True if a requirement is for the target: its marker holds, and the tags of the wheel that it names fit."""
    return applies(r.marker, target) and tagged(r.url, target)


_SYSTEM_TAGS = {"linux": ("linux", "manylinux", "musllinux"), "windows": ("win",), "macos": ("macosx",)}


_TAGS = regex(r"-((?:cp|py)[\w.]+)-([\w.]+)-([\w.]+)\.whl(?:$|[#?])")


def tags_of(url: str) -> tuple[str, str]:
    """The Python and the system that a wheel's name has; empty where there is no such name."""
    found = _TAGS.search(url)
    return (found[1].split(".")[0], found[3]) if found else ("", "")


def tagged(url: str, target: Target) -> bool:
    """True if a wheel's name is for the target's system and Python; anything else is taken to be."""
    found = _TAGS.search(url)
    if found is None:
        return True
    python, abi, platform = found.groups()
    if platform != "any" and not platform.startswith(_SYSTEM_TAGS[target.platform]):
        return False
    wanted = "cp" + "".join(target.python.split(".")[:2])
    return not target.python or not python.startswith("cp3") or abi == "abi3" or wanted in python.split(".")


def applies(marker: str, target: Target) -> bool:
    """True if a marker holds on the target; one that cannot be judged is taken to hold."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    system = {"linux": "Linux", "windows": "Windows", "macos": "Darwin"}[target.platform]
    env = {"sys_platform": {"linux": "linux", "windows": "win32", "macos": "darwin"}[target.platform], "platform_system": system,
           "platform_machine": "arm64" if target.platform == "macos" else "x86_64",
           "os_name": "nt" if target.platform == "windows" else "posix",
           "extra": ""}  # fmt: skip
    if target.python:
        env |= {"python_version": ".".join(target.python.split(".")[:2]), "python_full_version": target.python}
    try:
        return Marker(marker).evaluate(env)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


def of_local(spec: str, url: str = "") -> tuple[Build, str] | None:
    """The build that a pinned local part or a wheel's address names."""
    found = _LOCAL.search(spec.replace("%2B", "+")) or _LOCAL.search(url.replace("%2B", "+"))
    if not found:
        return None
    tag = found[1]
    return ("rocm", tag[4:]) if tag.startswith("rocm") else ("cpu", "") if tag == "cpu" else ("cuda", "")


def is_rebuild(r: Requirement) -> bool:
    """True if a local version is pinned (`==1.0+site.2`), the version of a source tree (`==1.0.dev0`), or a wheel that lies beside the commands: another
    build than the release of the package index, with metadata of its own. The PyTorch project's own packages have a local version for each GPU platform.
    """
    if r.url.endswith(".whl") and "://" not in r.url and r.name not in FAMILY:
        return True
    return ("+" in r.spec or r.spec.endswith(".dev0")) and not (r.name in FAMILY and of_local(r.spec))


def public(spec: str) -> str:
    """The range without local parts, so that it can be held against public versions."""
    return re.sub(r"\+[\w.]+", "", spec)


def admits(spec: str, version: str) -> bool:
    """True if a public version is in a range; a range that cannot be read admits everything."""
    try:
        return not spec or versions.contains(public(spec), version) is not False
    except ValueError:
        return True


def admits_python(spec: str, python: str) -> bool:
    """True if what a project requires of its Python admits some patch release of one (`3.12`)."""
    return any(admits(spec, f"{python}{patch}") for patch in ("", ".0", ".99"))


def pinned(spec: str) -> str:
    """The version of `==X` (not of `==X.*`), without its local part; empty for a range."""
    found = re.fullmatch(r"={2,3}\s*([\w.!]+)(\+[\w.]+)?", spec.strip())
    return found[1] if found else ""


def builds_on(matrix: Matrix, rocm: str, spec: str, target: Target) -> list[TorchBuild]:
    """Builds of the catalog on that ROCm index which the range and the target's Python admit, newest first."""
    python = "cp" + "".join(target.python.split(".")[:2]) if target.python else ""
    fit = [b for b in matrix.torch if is_on(b, rocm) and admits(spec, b.torch) and for_system(b, target.platform)]
    fit = [b for b in fit if not python or not b.pythons or python in b.pythons]
    return sorted(fit, key=lambda b: versions.sort_key(b.torch), reverse=True)


def for_system(build: TorchBuild, os: str) -> bool:
    """True if a build has wheels for an operating system; those without recorded platforms are Linux builds."""
    return any(p.startswith(_SYSTEM_TAGS[os]) for p in build.platforms) if build.platforms else os == "linux"


def known_index(matrix: Matrix, rocm: str) -> bool:
    """True if the catalog has builds for that ROCm."""
    return any(is_on(b, rocm) for b in matrix.torch)


def _is_known(source: Source, matrix: Matrix) -> bool:
    """True if the catalog lists what an index has of torch."""
    return known_index(matrix, source.rocm) and not is_folder_of_amd(source)


def is_on(build: TorchBuild, rocm: str) -> bool:
    """True if a build of the catalog lies on PyTorch's index of that ROCm."""
    return build.index.rsplit("/", 1)[-1] == f"rocm{rocm}"


def newest(matrix: Matrix, spec: str, target: Target) -> str:
    """The newest torch release known that a range and the target's Python admit; the pinned version itself for a pin."""
    if pinned(spec) or "$" in spec:
        return pinned(spec)
    python = "cp" + "".join(target.python.split(".")[:2])
    known = {b.torch for b in matrix.torch if versions.parse(b.torch) and (python == "cp" or python in b.pythons)}
    return max((v for v in known if admits(spec, v)), key=versions.sort_key, default="")


def resolve(step: Step, spec: str, place: Place, matrix: Matrix, target: Target) -> Torch:
    """The torch that a step installs for a range. `unknown` where an index is not known, `none` where no index has one."""
    asked, first = sources(step, "torch", target)
    source, version, why = (_first if first else _best)(asked, spec, matrix, target)
    rocm_index = next((s.origin for s in asked if s.build == "rocm"), None)
    explicit = source.build in ("cpu", "cuda") and not source.public
    return Torch(source.build, version, source.rocm, place, why, source.origin or rocm_index, explicit)


_NONE = Source("none", "", None)


def _first(asked: Sequence[Source], spec: str, matrix: Matrix, target: Target) -> tuple[Source, str, str]:
    source = asked[0]
    if source.build != "rocm":
        return source, _elsewhere(source, spec, matrix, target), _named(source)
    known = _is_known(source, matrix)
    found = builds_on(matrix, source.rocm, spec, target) if known else []
    if found or not known:
        return source, found[0].torch if found else "", _named(source)
    return _NONE._replace(rocm=source.rocm), "", _missing(source, spec, matrix, target)


def _best(asked: Sequence[Source], spec: str, matrix: Matrix, target: Target) -> tuple[Source, str, str]:
    """The highest version of all: ties go to the local part that sorts last (rocm after cu after none)."""
    if any(s.build == "unknown" for s in asked):
        unknown = next(s for s in asked if s.build == "unknown")
        return unknown, "", "an index is asked whose contents are not known"
    offers: list[tuple[tuple[object, int], Source, str]] = []
    for source in asked:
        version = _offer(source, spec, matrix, target)
        if version is not None:
            # The same version with a local part (+cpu, +cu126, +rocm6.4) is higher than the one of PyPI, which has none (PEP 440).
            rank = -1 if source.public else _RANK[source.build]
            offers.append(((versions.sort_key(version), rank), source, version))
    if not offers:
        rocm = next(s for s in asked if s.build == "rocm")
        return _NONE._replace(rocm=rocm.rocm), "", _missing(rocm, spec, matrix, target)
    _, source, version = max(offers, key=lambda o: o[0])
    if source.build == "rocm" and not _is_known(source, matrix):
        version = pinned(spec)  # what an index that is not known has is not known either
    if source.build != "rocm":
        version = _elsewhere(source, spec, matrix, target)
    beaten = next((s for s in asked if s.build == "rocm" and s is not source), None)
    why = _beaten(version, beaten, spec, matrix, target) if beaten else _named(source)
    return source, version, why


def _offer(source: Source, spec: str, matrix: Matrix, target: Target) -> str | None:
    """The version that an index offers for a range; None when it is known to have none."""
    if source.build == "rocm" and _is_known(source, matrix):
        found = builds_on(matrix, source.rocm, spec, target)
        return found[0].torch if found else None
    return newest(matrix, spec, target)


def _elsewhere(source: Source, spec: str, matrix: Matrix, target: Target) -> str:
    """The version that an index without ROCm builds gives: one for a CUDA release ends with that release's last torch."""
    return newest(matrix, spec, target) if source.public else pinned(spec)


def _named(source: Source) -> str:
    where = source.origin.url if source.origin else "the default package index"
    return f"it comes from {where}, whose torch is {said(source.build)}"


def said(build: Build, version: str = "") -> str:
    """A build in words: `2.9.1, a CUDA build`."""
    words = {"rocm": "a ROCm build", "cuda": "a CUDA build", "cpu": "a CPU build"}.get(build, "not known")
    return f"{version}, {words}" if version else words


def _beaten(version: str, rocm: Source, spec: str, matrix: Matrix, target: Target) -> str:
    """Why an index that has ROCm builds loses against another one."""
    found = builds_on(matrix, rocm.rocm, spec, target)
    where = rocm.origin.url if rocm.origin else ""
    have = f"the newest there is {found[0].torch}" if found else _missing(rocm, spec, matrix, target)
    return f"the installer takes the highest version of all indexes: {where} is asked too, but {have}, and {version} is elsewhere"


def _missing(source: Source, spec: str, matrix: Matrix, target: Target) -> str:
    all_of = builds_on(matrix, source.rocm, "", Target("", os=target.platform))
    if not all_of and target.platform != "linux":
        return f"the rocm{source.rocm} index has Linux wheels only"
    span = f"{all_of[-1].torch} to {all_of[0].torch}" if all_of else "none that is known"
    python = (
        f" for Python {target.python}"
        if target.python and builds_on(matrix, source.rocm, spec, Target("", os=target.platform))
        else ""
    )
    return f"the rocm{source.rocm} index has no torch {spec or 'at all'}{python} (it has {span})"


def not_there(asked: Sequence[Source], spec: str, matrix: Matrix, target: Target) -> str:
    """Why none of the indexes has a pinned ROCm build: all of them are known, and none lists it. Empty where one may have it."""
    others = [s for s in asked if s.build != "rocm"]
    ours = [s for s in asked if s.build == "rocm"]
    known = all(s.rocm and _is_known(s, matrix) and of_pytorch(s.origin) for s in ours)
    if not ours or not known or any(s.build == "unknown" or not s.public for s in others):
        return ""
    wanted_ = spec.strip().lstrip("=").strip()
    oldest = min((b.torch for b in matrix.torch if versions.parse(b.torch)), key=versions.sort_key)
    if versions.sort_key(pinned(f"=={wanted_}") or "0") < versions.sort_key(oldest):
        return ""  # older than all that the catalog has
    if any(b.local == wanted_ for s in ours for b in matrix.torch if is_on(b, s.rocm)):
        return ""
    return _missing(ours[-1], f"=={wanted_}", matrix, target)


def marked(requirements: Iterable[Requirement], target: Target) -> list[Requirement]:
    """The requirements whose markers hold for the target."""
    return [r for r in requirements if meant(r, target)]
