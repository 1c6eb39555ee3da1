"""The compatibility matrix: who says that what works with what, since when and until when. `load()` gives it."""

from __future__ import annotations

from rocm_doctor.matrix.store import Matrix, decode, load
from rocm_doctor.matrix.types import (
    DriverModule,
    DriverRange,
    EnvVar,
    Override,
    RocmRelease,
    Statement,
    Support,
    Target,
    TorchBuild,
)

__all__ = [
    "DriverModule",
    "DriverRange",
    "EnvVar",
    "Matrix",
    "Override",
    "RocmRelease",
    "Statement",
    "Support",
    "Target",
    "TorchBuild",
    "decode",
    "load",
]
