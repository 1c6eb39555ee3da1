"""Rows of the matrix for packages that come as the public wheel of an index: no binaries lie in a repository, so a row that asks whether
code is missing in one of these is judged by the version."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Row

WITH_CODE = frozenset(("bitsandbytes", "xformers", "flash-attn"))
"""The packages of which a release says whether it has code for AMD GPUs: by its wheels, or by what its setup.py can build."""


def rows_by_version(matrix: Matrix, names: frozenset[str]) -> Iterator[Row]:
    """The rows; those that want to know that code is missing in one of these packages no longer ask for it."""
    dropped = {"code." + name for name in names}
    for row in matrix.rows:
        when = {k: v for k, v in row.when.items() if k not in dropped or not (v == "absent" or v.startswith("!"))}
        yield msgspec.structs.replace(row, when=when) if len(when) < len(row.when) else row
