"""What torch was built for, from its files only: `torch/version.py` and METADATA are text, torch itself is never imported.

Layout of the four families of ROCm wheels: PyTorch's build scripts (pytorch/builder `manywheel/build_rocm.sh`, RFC 191688) and
ROCm/TheRock `docs/packaging/versioning.md`, `docs/packaging/python_packaging.md`.

    ==> py/torch/version.py <==
    __version__ = '2.9.1+rocm6.4'
    debug = False
    cuda = None
    hip = '6.4.43484-123eb5128'

>>> print(probe(sample))
torch.version = 2.9.1+rocm6.4
torch.hip = 6.4.43484-123eb5128
torch.cuda = absent
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_ASSIGNED = regex(r"^(__version__|cuda|hip|rocm|git_version)\s*(?::[^=\n]{0,60})?=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|None)", re.M)
_LOCAL_ROCM = regex(r"rocm(\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc|\.dev)\d+)?)")
_REQUIRES_ROCM = regex(r"^Requires-Dist:\s*(rocm\s*\[[^\]\n]{0,200}\][^;\n]{0,200})", re.M | re.I)
_OF_CUDA = regex(r"nvidia-[a-z0-9-]+-cu\d+==")
"""CUDA's own packages, which the CUDA build of torch requires."""


class Build(NamedTuple):
    """torch's build as far as it is known. `asked_hip`: the text defines `hip`, even as None; `requires`: the ROCm that METADATA
    requires; `has_init`: torch has the start-up file that loads it."""

    version: str
    hip: str | None = None
    cuda: str | None = None
    rocm: str | None = None
    asked_hip: bool = False
    requires: str | None = None
    has_init: bool | None = None

    @property
    def local(self) -> str:
        """The local part of the version; empty without one."""
        return self.version.partition("+")[2]


def probe(artifacts: Artifacts) -> ProbeResult:
    """torch.version, torch.hip, torch.cuda, torch.rocm, torch.build and torch.family from the examined interpreter's files."""
    result = ProbeResult()
    source = artifacts.get("py/torch/version.py")
    if source is None:
        _read_list(result, artifacts.get("py/packages"))
    elif source.missing == "absent-source":
        _record_absent(result, source)
    if source is None or source.missing:
        return result
    found = {m.group(1): (m.group(2) or m.group(3), m.group(0)) for m in _ASSIGNED.finditer(source.text)}
    version = found.get("__version__", (None, ""))[0]
    if not version:
        result.fail(source.name, "no __version__ in torch/version.py")
        return result
    requires, has_init = _neighbours(artifacts)
    hip, cuda, rocm = (found.get(name, (None, ""))[0] for name in ("hip", "cuda", "rocm"))
    build = Build(version, hip, cuda, rocm, "hip" in found, requires, has_init)
    for key, name in (("torch.version", "__version__"), ("torch.hip", "hip"), ("torch.cuda", "cuda")):
        if name in found:
            result.record(key, found[name][0], _reading(source, found[name][1]))
    record_build(result, build, _reading(source, found["__version__"][1]))
    return result


def _read_list(result: ProbeResult, source: Artifact | None) -> None:
    """torch.* from a declared list of packages: what a resolver chose, of which no file is installed."""
    if source is None or source.origin != "declared":
        return
    lines = [Reading(source.name, f"line {n}", line.strip()) for n, line in enumerate(source.text.splitlines(), 1)]
    torch = next((line for line in lines if line.quote.startswith("torch==")), None)
    if torch is None:
        _record_absent(result, Artifact(source.name, source.origin, note="no torch in the list"))
        return
    version = torch.quote.partition("==")[2]
    result.record("torch.version", version, torch)
    cuda = next((line for line in lines if _OF_CUDA.match(line.quote)), None) if "+" not in version else None
    record_build(result, Build(version, cuda=cuda.quote if cuda else None), cuda or torch)


def record_build(result: ProbeResult, build: Build, reading: Reading) -> None:
    """The facts that follow from a build's version, hip and cuda; none where these do not decide."""
    kind = build_kind(build)
    if kind is None:
        return
    result.record("torch.build", kind, reading)
    release = build_rocm(build)
    if release or kind != "rocm":
        result.record("torch.rocm", release, reading)
    family = wheel_family(build) if kind == "rocm" else None
    if family:
        result.record("torch.family", family, reading)


def build_kind(build: Build) -> str | None:
    """rocm, cuda or cpu; None if the version alone (2.6.0) does not decide."""
    if build.hip or build.rocm or "rocm" in build.local:
        return "rocm"
    if build.cuda or re.match(r"cu\d", build.local):
        return "cuda"
    return "cpu" if build.asked_hip or re.match(r"cpu|xpu", build.local) else None


def build_rocm(build: Build) -> str | None:
    """The ROCm release of the build, from its local version, else from version.rocm. HIP's number is not ROCm's: the catalog maps
    it (facts/enrich.py)."""
    local = _LOCAL_ROCM.search(build.local)
    if local:
        return local.group(1)
    return build.rocm.partition("-")[0] if build.rocm else None


def wheel_family(build: Build) -> str | None:
    """The wheel family; None if the version alone does not decide."""
    local = build.local
    if not build.version:
        return None
    if build.has_init or re.match(r"devrocm|rocmsdk", local) or re.match(r"rocm\d+\.\d+\.\d+(?:a|b|rc)\d", local):
        return "therock"
    if re.search(r"\.git[0-9a-f]{6,}", local) and local.startswith("rocm"):
        return "amd-listing"
    if build.requires:
        return "rpath-packages" if re.search(r"==\s*\d+\.\d+\.\*", build.requires) else "therock"
    numbers = re.match(r"rocm(\d{1,4})\.(\d{1,4})(?:\.(\d+))?$", local)
    if numbers is None:
        return "source" if build.hip and not local.startswith("rocm") else None
    if (int(numbers[1]), int(numbers[2])) >= (7, 9):
        return "therock" if numbers[3] else "rpath-packages"
    return "bundled"


def _neighbours(artifacts: Artifacts) -> tuple[str | None, bool | None]:
    """(the ROCm packages that METADATA requires, whether torch has the start-up file that loads them); None for what was not
    read."""
    requires = next(
        (m.group(1) for a in artifacts.like("py/torch-*.dist-info/METADATA") if (m := _REQUIRES_ROCM.search(a.text))), None
    )
    init = artifacts.get("py/torch/_rocm_init.py")
    return requires, None if init is None else not init.missing


def _record_absent(result: ProbeResult, source: Artifact) -> None:
    reading = Reading(source.name, "", source.note or "no torch in this interpreter")
    for key in ("torch.version", "torch.hip", "torch.cuda", "torch.rocm", "torch.build"):
        result.record(key, None, reading)


def _reading(source: Artifact, line: str) -> Reading:
    place = source.text.count("\n", 0, max(0, source.text.find(line))) + 1
    return Reading(source.name, f"line {place}", line.strip())
