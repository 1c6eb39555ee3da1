"""HIP's numbers and ROCm's, as the catalog has them (`hip` in rocm.yaml). They agree up to 7.14, with exceptions, and not after."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.matrix.types import RocmRelease
from rocm_doctor.versions import release, series


def rocm_of_hip(hip: str, releases: Sequence[RocmRelease]) -> str | None:
    """The ROCm series that a HIP version belongs to; None for a number that the catalog does not know.

    Two series may share a HIP minor (ROCm 6.0 printed 6.1.3283x): the build decides.
    """
    mine, minor = release(hip), series(hip)
    if not mine or not minor:
        return None
    builds = sorted((release(r.hip) or (), series(r.version)) for r in releases if series(r.hip) == minor)
    below = [rocm for number, rocm in builds if number <= mine]
    if builds:
        return below[-1] if below else builds[0][1]
    return minor if any(series(r.version) == minor for r in releases) else None


def hip_of_rocm(rocm: str, releases: Sequence[RocmRelease]) -> str:
    """The HIP minor of a ROCm release: its own number where the catalog has no other."""
    minor = series(rocm)
    return next((hip for r in releases if series(r.version) == minor and (hip := series(r.hip))), minor or rocm)
