"""The GPU code of one place: a Python environment, a folder, a wheel, or a single file. Nothing is imported, loaded or unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from rocm_doctor.binaries import bitsandbytes, inspect
from rocm_doctor.binaries.kernels import is_kernel_file, kernel_holdings
from rocm_doctor.binaries.kpack import Contents
from rocm_doctor.binaries.listing import list_folder, relevant_files, walk
from rocm_doctor.binaries.names import library_name, may_hold_code
from rocm_doctor.binaries.types import ARTIFACT, Audit, Holding, PlaceKind
from rocm_doctor.bounded import Unreadable, files
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact

# Kernel files of a ROCm outside of Python, loaded by a torch without its own rocBLAS.
ROCM_FOLDERS = ("lib/rocblas/library", "lib/hipblaslt/library")

_HIP = regex(r"^hip(?:\s{0,20}:[^=\n]*)?\s{0,20}=\s*'([^']*)'", re.MULTILINE)
_DIST = regex(r"(torch|bitsandbytes|xformers)-([^-/]+)\.dist-info/?")
_ELSEWHERE = "its code is in kpack archives"
_NOWHERE = "its code was split off, and no archive here has it: a device package is missing"

Read = Callable[[str], "inspect.Found | None"]


def audit_environment(
    sites: Path | Sequence[Path],
    *,
    everything: bool = False,
    rocm: Sequence[Path] = (),
    bnb_override: str = "",
) -> Audit:
    """GPU code in the site-packages folders of one interpreter, in its search order.

    `rocm`: roots of a ROCm outside of Python, whose kernel folders are listed. `bnb_override`: value of BNB_ROCM_VERSION. Without
    `everything` only the folders of `RELEVANT` are read, to keep `check` fast.
    """
    roots: dict[str, Path] = {}
    folders = [sites] if isinstance(sites, Path) else list(sites)
    for site in folders:
        for path in walk(site) if everything else relevant_files(site):
            roots.setdefault(path, site)
    for root in rocm:
        for folder in ROCM_FOLDERS:
            for name, _ in list_folder(root / folder):
                roots.setdefault(f"{root.as_posix().lstrip('/')}/{folder}/{name}", root)
    hip = next(filter(None, map(_read_hip_version, folders)), "")

    def read(path: str) -> inspect.Found | None:
        return inspect.inspect_file(roots[path] / path, library_name(path), path)

    place = os.pathsep.join(map(str, folders))
    return audit_paths(place, "environment", list(roots), read, hip, bnb_override)


def audit_folder(folder: Path) -> Audit:
    """GPU code in any folder tree, such as /opt/rocm or an unpacked wheel."""
    found = audit_environment(folder, everything=True)
    return msgspec.structs.replace(found, kind="folder")


def audit_file(path: Path) -> Audit:
    """GPU code in one library, code object, bundle or kpack archive."""
    found = inspect.inspect_file(path, library_name(path.name), path.name)
    return Audit(str(path), "file", (found[0],) if found else (), files=1)


def artifact(audit: Audit) -> Artifact:
    """The audit as text, so that a bundle replays it: probes/python/code.py reads it back."""
    return Artifact(ARTIFACT, "live", msgspec.json.format(msgspec.json.encode(audit), indent=1).decode())


def audit_paths(place: str, kind: PlaceKind, paths: list[str], read: Read, hip: str, override: str) -> Audit:
    """The audit of single files, as one place."""
    holdings = kernel_holdings(paths)
    archives: list[Contents] = []
    files = 0
    for path in paths:
        if not may_hold_code(path.rsplit("/", 1)[-1]) or is_kernel_file(path):
            continue
        files += 1
        if found := read(path):
            holdings.append(found[0])
            archives += [found[1]] if found[1] else []
    versions = {m.group(1): m.group(2) for path in paths if (m := _DIST.match(path))}
    choice = bitsandbytes.choose(paths, hip, versions.get("bitsandbytes", ""), override)
    done = sorted((_join_archives(h, archives) for h in holdings), key=lambda h: (h.library, h.path))
    return Audit(place, kind, tuple(done), hip, versions, choice, files)


def _join_archives(holding: Holding, archives: list[Contents]) -> Holding:
    """A split library with the code that the archives have for it."""
    if holding.kind != "split":
        return holding
    targets = sorted({t for a in archives for t in a.targets(holding.key)}, key=inspect.target_order)
    return msgspec.structs.replace(holding, targets=tuple(targets), note=_ELSEWHERE if targets else _NOWHERE)


def _read_hip_version(site: Path) -> str:
    """torch.version.hip from the text of torch/version.py; "" for a build without it."""
    try:
        found = _HIP.search(files.head(site / "torch" / "version.py", 4096).decode("utf-8", "replace"))
    except (OSError, Unreadable):
        return ""
    return found.group(1) if found else ""
