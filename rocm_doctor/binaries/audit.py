"""Everything in one place: a Python environment, a folder, a wheel, or a single file. Nothing is imported, loaded or unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from rocm_doctor.binaries import bitsandbytes, inspect
from rocm_doctor.binaries.kernels import is_kernel_file, kernel_holdings
from rocm_doctor.binaries.kpack import Contents
from rocm_doctor.binaries.names import library_of, may_hold_code
from rocm_doctor.binaries.types import ARTIFACT, Audit, Holding, PlaceKind
from rocm_doctor.model import Artifact, Origin

# The folders of site-packages that training depends on: what `check` looks into. A full audit walks everything.
RELEVANT = (
    "torch/lib", "torch", "torch/.kpack", "torch/lib/.kpack", "torch/lib/library", "torch/lib/rocblas/library",
    "torch/lib/hipblaslt/library", "torch/lib/aotriton.images", "torch/share/miopen/db",
    "_rocm_sdk_libraries*/lib", "_rocm_sdk_libraries*/bin", "_rocm_sdk_libraries*/.kpack", "_rocm_sdk_libraries*/lib/.kpack",
    "_rocm_sdk_libraries*/*/rocblas/library", "_rocm_sdk_libraries*/*/hipblaslt/library", "_rocm_sdk_libraries*/share/miopen/db",
    "bitsandbytes", "xformers", "flash_attn_3", "vllm", "torchvision", "torchaudio/lib", "deepspeed/ops",
)  # fmt: skip
RELEVANT_TOP = ("flash_attn_2_cuda*", "xformers*")
MAX_FILES = 200_000
_HIP = re.compile(r"^hip(?:\s*:[^=\n]*)?\s*=\s*'([^']*)'", re.MULTILINE)
_DIST = re.compile(r"(torch|bitsandbytes|xformers)-([^-/]+)\.dist-info/?")

# Kernel files of a ROCm outside of Python: what a torch that brings no rocBLAS of its own will load.
ROCM_FOLDERS = ("lib/rocblas/library", "lib/hipblaslt/library", "share/miopen/db")

_ELSEWHERE = "its code stands in kpack archives"
_NOWHERE = "its code was split off, and no archive here holds it: a device package is missing"

Read = Callable[[str], "tuple[inspect.Found | None, int]"]
Progress = Callable[[str], None]


def audit_environment(
    sites: Path | Sequence[Path],
    torch_hip: str | None = None,
    *,
    everything: bool = False,
    rocm: Sequence[Path] = (),
    bnb_override: str = "",
    progress: Progress | None = None,
) -> Audit:
    """GPU code in the site-packages folders of one interpreter, in its search order.

    `torch_hip`: torch.version.hip when it is known already ("" for no ROCm build). `rocm`: roots of a ROCm outside of Python; its
    kernel folders are listed. `bnb_override`: value of BNB_ROCM_VERSION. Without `everything` only the folders of `RELEVANT`
    are looked into, which is what `check` can afford.
    """
    roots: dict[str, Path] = {}
    folders = [sites] if isinstance(sites, Path) else list(sites)
    for site in folders:
        for path in _walk(site) if everything else _relevant(site):
            roots.setdefault(path, site)
    for root in rocm:
        for folder in ROCM_FOLDERS:
            for name, _ in _listed(root / folder):
                roots.setdefault(f"{root.as_posix().lstrip('/')}/{folder}/{name}", root)
    hip = torch_hip if torch_hip is not None else next(filter(None, (_hip_of(folder) for folder in folders)), "")

    def read(path: str) -> tuple[inspect.Found | None, int]:
        return inspect.inspect_file(roots[path] / path, library_of(path), path)

    place = os.pathsep.join(map(str, folders))
    return audit_paths(place, "environment", list(roots), read, hip, bnb_override, progress)


def audit_folder(folder: Path, torch_hip: str | None = None, progress: Progress | None = None) -> Audit:
    """GPU code in any folder tree, such as /opt/rocm or an unpacked wheel."""
    hip = torch_hip if torch_hip is not None else _hip_of(folder)

    def read(path: str) -> tuple[inspect.Found | None, int]:
        return inspect.inspect_file(folder / path, library_of(path), path)

    return audit_paths(str(folder), "folder", list(_walk(folder)), read, hip, "", progress)


def audit_file(path: Path) -> Audit:
    """GPU code in one library, code object, bundle or kpack archive."""
    found, read = inspect.inspect_file(path, library_of(path.name), path.name)
    return Audit(str(path), "file", (found[0],) if found else (), files=1, bytes_read=read)


def artifact(audit: Audit, origin: Origin = "live", seconds: float | None = None) -> Artifact:
    """The audit as text, so that a bundle replays it: probes/code.py reads it back."""
    return Artifact(ARTIFACT, origin, msgspec.json.format(msgspec.json.encode(audit), indent=1).decode(), seconds=seconds)


def audit_paths(
    place: str, kind: PlaceKind, paths: list[str], read: Read, hip: str, override: str, progress: Progress | None
) -> Audit:
    holdings = kernel_holdings(paths)
    archives: list[Contents] = []
    files = total = 0
    for path in paths:
        if not may_hold_code(path.rsplit("/", 1)[-1]) or is_kernel_file(path):
            continue
        if progress:
            progress(path)
        found, size = read(path)
        files, total = files + 1, total + size
        if found:
            holdings.append(found[0])
            archives += [found[1]] if found[1] else []
    versions = {m.group(1): m.group(2) for path in paths if (m := _DIST.match(path))}
    choice = bitsandbytes.choose(paths, hip, versions.get("bitsandbytes", ""), override)
    done = sorted((_joined(h, archives) for h in holdings), key=lambda h: (h.library, h.path))
    return Audit(place, kind, tuple(done), hip, versions, choice, files, total)


def _joined(holding: Holding, archives: list[Contents]) -> Holding:
    """A split library with the code that the archives hold for it."""
    if holding.kind != "split":
        return holding
    targets = sorted({t for a in archives for t in a.targets(holding.key)}, key=inspect.target_order)
    return msgspec.structs.replace(holding, targets=tuple(targets), note=_ELSEWHERE if targets else _NOWHERE)


def _hip_of(site: Path) -> str:
    """torch.version.hip from the text of torch/version.py; "" for a build without it."""
    try:
        found = _HIP.search((site / "torch" / "version.py").read_text("utf-8", "replace")[:4096])
    except OSError:
        return ""
    return found.group(1) if found else ""


def _walk(root: Path) -> Iterator[str]:
    """Files below `root` as relative paths, and folders with a '/' at the end. Links are not followed; stops at MAX_FILES."""
    pending = [""]
    seen = 0
    while pending and seen < MAX_FILES:
        folder = pending.pop()
        for name, is_folder in _listed(root / folder):
            seen += 1
            if is_folder:
                if name not in ("__pycache__", "node_modules"):
                    pending.append(f"{folder}{name}/")
                    yield f"{folder}{name}/"
            else:
                yield folder + name


def _relevant(site: Path) -> Iterator[str]:
    top = _listed(site)
    for name, is_folder in top:
        if not is_folder and any(fnmatchcase(name, glob) for glob in RELEVANT_TOP):
            yield name
        elif name.endswith(".dist-info"):
            yield name + "/"
    names = [name for name, is_folder in top if is_folder]
    for glob in RELEVANT:
        for folder in _expand(site, glob, names):
            yield from (f"{folder}/{name}" + ("/" if is_folder else "") for name, is_folder in _listed(site / folder))


def _expand(site: Path, glob: str, names: Iterable[str]) -> list[str]:
    """Folders that fit; only the first part, whose candidates are known, and single stars are looked up."""
    first, _, rest = glob.partition("/")
    tops = [name for name in names if fnmatchcase(name, first)]
    if "*" not in rest:
        return [f"{top}/{rest}".rstrip("/") for top in tops]
    return [p.relative_to(site).as_posix() for top in tops for p in (site / top).glob(rest)]


def _listed(folder: Path) -> list[tuple[str, bool]]:
    """Names in a folder and whether each is one itself; nothing for one that is not there or not readable."""
    try:
        with os.scandir(folder) as entries:
            return [(e.name, e.is_dir(follow_symlinks=False)) for e in entries if not (e.is_symlink() and e.is_dir())]
    except OSError:
        return []
