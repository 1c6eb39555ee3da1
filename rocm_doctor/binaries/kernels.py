"""Kernel files beside the libraries, whose names contain their targets. None of them is opened.

Facts: PyTorch's wheel build scripts (torch/lib/rocblas/library and its neighbours), AOTriton's image folders (one for a family of chips),
TheRock's device packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocm_doctor.binaries.inspect import target_order
from rocm_doctor.binaries.targets import PROCESSORS
from rocm_doctor.binaries.types import Holding
from rocm_doctor.bounded.patterns import regex

_TENSILE = regex(r"(.*?(?:^|/)(rocblas|hipblaslt)/library|torch/lib/library)/(?:.*/)?([^/]+)")
_NAMED = regex(r"[_-](gfx[0-9a-f]{3,5})(?:[-:]?(xnack[+-]))?(?=[._-])")
_LAZY = regex(r"TensileLibrary_lazy_(gfx[0-9a-f]{3,5})\.")
_AOTRITON = regex(r"(.*?(?:^|/)aotriton\.images)/amd-(gfx[0-9a-fx]+)/")
_DEVICE = regex(r"((amd_torch|amd_torchvision|rocm_sdk)_device_(gfx\w+?))-[^/]*\.dist-info/")


def is_kernel_file(path: str) -> bool:
    """True for a file of a kernel folder: there are thousands, and their names are enough."""
    return bool(_TENSILE.match(path) or "/aotriton.images/" in path)


def kernel_holdings(paths: Iterable[str]) -> list[Holding]:
    """Holdings of all folders of kernel files among these paths ('/' between parts, folders end in one)."""
    tensile: dict[tuple[str, str], set[str]] = {}
    lazy: dict[tuple[str, str], set[str]] = {}
    others: dict[tuple[str, str, str], set[str]] = {}
    for path in paths:
        if "gfx" not in path:
            continue
        if found := _TENSILE.match(path):
            place = (found.group(2) or "rocblas", found.group(1))
            _note_tensile(found.group(3), tensile.setdefault(place, set()), lazy.setdefault(place, set()))
        elif found := _AOTRITON.match(path):
            others.setdefault(("aotriton", found.group(1), "aotriton"), set()).add(found.group(2))
        elif found := _DEVICE.match(path):
            library = {"amd_torch": "torch", "amd_torchvision": "torchvision"}.get(found.group(2), "rocm-sdk")
            others.setdefault((library, found.group(1), "device-wheel"), set()).add(_device_target(found.group(3)))
    index = {(library, folder, "tensile"): lazy[library, folder] or all_ for (library, folder), all_ in tensile.items()}
    found_all = {**index, **others}
    return [Holding(lib, where, kind, _sort_targets(t), note=_note(kind)) for (lib, where, kind), t in found_all.items() if t]  # type: ignore[arg-type]


def _note(kind: str) -> str:
    return {
        "tensile": "kernel index files: the targets that can do a matrix multiplication",
        "aotriton": "one folder for a family: it proves no single member",
        "device-wheel": "from the package's name",
    }[kind]


def _note_tensile(name: str, targets: set[str], lazy: set[str]) -> None:
    """The targets with a lazy index, which rocBLAS opens; without any, every file that names a target counts."""
    if index := _LAZY.match(name):
        lazy.add(index.group(1))
    if found := _NAMED.search(name):
        targets.add(found.group(1) + (f":{found.group(2)}" if found.group(2) else ""))


def _device_target(name: str) -> str:
    """The target or family in the name of a device package: `gfx11` covers gfx11xx, `gfx12_0` gfx120x."""
    plain = name.replace("_", "")
    if plain in PROCESSORS:
        return plain
    digits = re.match(r"gfx(\d+)", plain)
    return "gfx" + digits.group(1).ljust(4, "x") if digits else name


def _sort_targets(targets: set[str]) -> tuple[str, ...]:
    return tuple(sorted(targets, key=target_order))
