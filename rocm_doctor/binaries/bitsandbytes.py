"""The library that bitsandbytes loads for a torch build.

Facts: bitsandbytes/cextension.py of 0.50.2 and of 0.49. The library's name carries the first two numbers of torch.version.hip
without the dot (`rocm714` for HIP 7.14, `rocm715` for ROCm 10.0, whose HIP is 7.15).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocm_doctor.binaries.types import LibraryChoice
from rocm_doctor.bounded.patterns import regex

_LIBRARY = regex(r"(?:.*/)?libbitsandbytes_rocm(\d)(\d+)\.(?:so|dll)")
FALLBACK_SINCE = (0, 50)


def choose(paths: Iterable[str], hip: str, version: str = "", override: str = "") -> LibraryChoice | None:
    """The file that will be loaded; None without a ROCm library among the paths or without a ROCm build of torch.

    Exact version first. From 0.50 on: else the next lower of the same major, else the next higher; never another major.
    `override` is BNB_ROCM_VERSION (digits), which is used as given.
    """
    libraries = {(int(m.group(1)), int(m.group(2))): path for path in sorted(paths) if (m := _LIBRARY.fullmatch(path))}
    wanted = _two(hip)
    if not libraries or wanted is None:
        return None
    have = ", ".join(f"{major}.{minor}" for major, minor in sorted(libraries))
    if override:
        named = next((path for v, path in libraries.items() if f"{v[0]}{v[1]}" == override), "")
        return LibraryChoice(named, f"BNB_ROCM_VERSION={override} " + ("names it" if named else f"is not among {have}"))
    if wanted in libraries:
        return LibraryChoice(libraries[wanted], f"built for HIP {wanted[0]}.{wanted[1]}, as torch is")
    near = _nearest(libraries, wanted) if (_two(version) or FALLBACK_SINCE) >= FALLBACK_SINCE else None
    if near is None:
        return LibraryChoice("", f"torch has HIP {wanted[0]}.{wanted[1]}, the package has libraries for {have}")
    return LibraryChoice(libraries[near], f"nearest to torch's HIP {wanted[0]}.{wanted[1]} among {have}")


def _nearest(libraries: Iterable[tuple[int, int]], wanted: tuple[int, int]) -> tuple[int, int] | None:
    same_major = [v for v in libraries if v[0] == wanted[0]]
    lower = [v for v in same_major if v < wanted]
    return max(lower) if lower else min(same_major, default=None)


def _two(version: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found.group(1)), int(found.group(2))) if found else None
