"""Kernel files of rocBLAS and hipBLASLt, whose names contain their targets. None of them is opened.

Facts: PyTorch's wheel build scripts (torch/lib/rocblas/library and its neighbours).
"""

from __future__ import annotations

from collections.abc import Iterable

from rocm_doctor.binaries.inspect import target_order
from rocm_doctor.binaries.types import Holding
from rocm_doctor.bounded.patterns import regex

_TENSILE = regex(r"(.*?(?:^|/)(rocblas|hipblaslt)/library|torch/lib/library)/(?:.*/)?([^/]+)")
_NAMED = regex(r"[_-](gfx[0-9a-f]{3,5})(?:[-:]?(xnack[+-]))?(?=[._-])")
_LAZY = regex(r"TensileLibrary_lazy_(gfx[0-9a-f]{3,5})\.")
_NOTE = "kernel index files: the targets that can do a matrix multiplication"


def is_kernel_file(path: str) -> bool:
    """True for a file of a kernel folder: there are thousands, and their names are enough."""
    return bool(_TENSILE.match(path))


def kernel_holdings(paths: Iterable[str]) -> list[Holding]:
    """A holding for each folder of kernel files among these paths ('/' between parts). Its targets are those with a lazy index, which
    rocBLAS opens; without any, those that a file names."""
    indexed: dict[tuple[str, str], set[str]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    for path in paths:
        found = _TENSILE.match(path) if "gfx" in path else None
        if found is None:
            continue
        place = (found[2] or "rocblas", found[1])
        if index := _LAZY.match(found[3]):
            indexed.setdefault(place, set()).add(index[1])
        if target := _NAMED.search(found[3]):
            named.setdefault(place, set()).add(target[1] + (f":{target[2]}" if target[2] else ""))
    return [
        Holding(library, folder, "tensile", tuple(sorted(targets, key=target_order)), note=_NOTE)
        for (library, folder), targets in {**named, **indexed}.items()
    ]
