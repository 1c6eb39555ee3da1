"""Version checks that a row cannot express: torch against the GPU, against Python, and against torchvision and torchaudio."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix, TorchBuild
from rocm_doctor.matrix.types import Extension
from rocm_doctor.model import Fact, Finding, Snapshot, Subject
from rocm_doctor.rules.build import find_build, install
from rocm_doctor.rules.findings import finding, readings
from rocm_doctor.rules.frameworks import TORCH, amd_frameworks, frameworks_in_question
from rocm_doctor.versions import contains, parse, release, rocm_of_local


def torch_not_rocm(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """An error if torch is a CUDA or CPU build and there is an AMD GPU, or the GPUs were not probed. Beside another framework
    with AMD code it is a warning for a CUDA build, and a note for a CPU build, which somebody chose. Nothing for integrated AMD
    GPUs beside an NVIDIA driver."""
    build, version = snapshot.value("torch.build"), snapshot.value("torch.version")
    none = snapshot.gpus_listed and not snapshot.gpus and snapshot.value("dxg.exists") is not True  # WSL lists none by itself
    if build not in ("cuda", "cpu") or TORCH not in frameworks_in_question(snapshot) or none:
        return
    if snapshot.gpus and all(g.value("is_apu") is True for g in snapshot.gpus) and _has_nvidia(snapshot):
        return
    gpu = snapshot.gpus[0].get("gfx").readings[:1] if snapshot.gpus else ()
    yield finding(
        matrix,
        "version.torch-not-rocm/build",
        (*readings(snapshot, "torch.version", "torch.build"), *gpu),
        confidence="high" if snapshot.gpus else "medium",
        severity="error" if not amd_frameworks(snapshot) else "note" if build == "cpu" else "warning",
        torch=f"torch {version}" if isinstance(version, str) else "torch",
        build=str(build).upper(),
    )


def _has_nvidia(snapshot: Snapshot) -> bool:
    """True if an NVIDIA driver is loaded: then a CUDA torch beside an integrated AMD GPU is the right build."""
    others = snapshot.value("driver.others")
    return (isinstance(others, tuple) and "nvidia" in others) or isinstance(snapshot.value("said.nvidia"), str)


def companions(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """Findings for torchvision, torchaudio or triton of another torch, or of a CUDA or CPU build, beside a ROCm torch."""
    torch = snapshot.value("torch.version")
    if snapshot.value("torch.build") != "rocm" or not isinstance(torch, str):
        return
    build = _catalogd(torch, matrix)
    for name in ("torchvision", "torchaudio"):
        why = _unfit(matrix.extensions[name], snapshot.get(f"pkg.{name}"), torch, getattr(build, name, ""))
        if why:
            yield _companion(snapshot, matrix, name, why, build)
    why = _wrong_triton(snapshot, build)
    if why:
        yield _companion(snapshot, matrix, "triton", why, build)


def _catalogd(torch: str, matrix: Matrix) -> TorchBuild | None:
    """The build of exactly this version, or a build of the same torch release whose torchvision is known; None for a pre-release
    that is not in the catalog, or without such a build."""
    exact = find_build(matrix, torch)
    version = parse(torch)
    if exact or version is None or version.pre:
        return exact
    return next(
        (b for b in matrix.torch if release(b.torch) == version.release and b.torchvision and "+" not in b.torchvision), None
    )


def _unfit(one: Extension, fact: Fact, torch: str, expected: str) -> str:
    """Why torchvision or torchaudio does not match this torch; empty if it does or is unknown."""
    if not isinstance(fact.value, str):
        return ""
    name = one.name
    local = fact.value.partition("+")[2]
    if local.startswith("cu") or local == "cpu":
        return f"{name} {fact.value} is built for {'CUDA' if local.startswith('cu') else 'the CPU'}"
    if not local and rocm_of_local(torch) and _is_listed(fact) and name == "torchvision":
        return f"{name} {fact.value} is the plain wheel, whose operators are not built for this torch"
    if local and "rocm" not in local:
        return ""  # built on purpose (0.16.1+fdea156): against which torch, its number does not tell
    mine, wanted = release(fact.value), release(expected)
    if not mine or not wanted or not contains(one.pinned, torch):
        return ""
    # AMD's own listings pair other patch releases than the PyTorch index does: only the series must agree.
    return f"torch {torch} goes with {name} {expected}, not {fact.value}" if mine[:2] != wanted[:2] else ""


def _is_listed(fact: Fact) -> bool:
    """True for a fact from a package list, which prints local versions; prose omits them."""
    return any(r.artifact == "py/packages" or "pip" in r.artifact for r in fact.readings)


def _wrong_triton(snapshot: Snapshot, build: TorchBuild | None) -> str:
    """The mismatch with the Triton package that the wheel names; a plain `triton` instead is the CUDA build."""
    name, _, version = build.triton.partition("==") if build else ("", "", "")
    if name not in ("pytorch-triton-rocm", "triton-rocm") or build is None or build.family != "bundled":
        return ""
    mine, plain = snapshot.get(f"pkg.{name}"), snapshot.get("pkg.triton")
    if mine.known and mine.value is None and isinstance(plain.value, str) and "rocm" not in plain.value:
        return f"torch needs {name}, but only triton {plain.value} (for CUDA) is installed"
    if isinstance(mine.value, str) and version and release(mine.value) != release(version):
        return f"torch needs {name} {version}, not {mine.value}"
    return ""


def _companion(snapshot: Snapshot, matrix: Matrix, name: str, why: str, build: TorchBuild | None) -> Finding:
    return finding(
        matrix,
        "version.companion-mismatch/package",
        readings(snapshot, "torch.version", f"pkg.{name}"),
        subject=Subject(name, "package"),
        confidence="high" if build else "medium",
        severity="warning" if name == "triton" else "error",
        commands=(build and build.index.startswith("https") and install(build)) or None,
        why=why,
    )
