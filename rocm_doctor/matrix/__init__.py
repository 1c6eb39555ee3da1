"""The compatibility matrix: who says that what works with what, since when and until when. `load()` gives it."""

from __future__ import annotations

from rocm_doctor.matrix.store import Matrix, decode, load
from rocm_doctor.matrix.types import (
    DriverModule,
    DriverRange,
    EnvVar,
    Fact,
    Override,
    RocmRelease,
    Support,
    Target,
    TorchBuild,
)

__all__ = [
    "DriverModule",
    "DriverRange",
    "EnvVar",
    "Fact",
    "Matrix",
    "Override",
    "RocmRelease",
    "Support",
    "Target",
    "TorchBuild",
    "decode",
    "load",
]
