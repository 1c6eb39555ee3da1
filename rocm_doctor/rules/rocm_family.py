"""Does the ROCm that torch loads match torch? That depends on where the wheel has its ROCm, so each family has its own check.

    bundled          ROCm is inside the wheel: the system's ROCm does not matter, unless LD_LIBRARY_PATH brings it in
    rpath-packages   pip packages of one series, found by RPATH
    therock          pip packages pinned to one exact build
    source           the system's ROCm
    amd-listing      unknown where these find it: not judged

Sources: pytorch RFC 191688, ROCm/TheRock docs/packaging, ROCm/pytorch issue 1340, pytorch issue 118457.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Severity, Snapshot
from rocm_doctor.rules.findings import finding, readings
from rocm_doctor.versions import parse, series


def rocm_of_the_family(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`version.rocm-mismatch`, judged by the family of the wheel."""
    family, mine = snapshot.value("torch.family"), snapshot.value("torch.rocm")
    if not isinstance(mine, str):
        return
    if family == "bundled":
        yield from _loader_path(snapshot, matrix, mine)
    elif family in ("rpath-packages", "therock"):
        yield from _packages(snapshot, matrix, mine, exact=family == "therock")
    elif family == "source":
        yield from _system(snapshot, matrix, mine)


def _loader_path(snapshot: Snapshot, matrix: Matrix, mine: str) -> Iterator[Finding]:
    """The finding for another ROCm on LD_LIBRARY_PATH, which the loader may mix with the wheel's."""
    entries = snapshot.value("rocm.on_path")
    others = [entry for entry in entries if _differs(entry.rpartition("=")[2], mine)] if isinstance(entries, tuple) else []
    if others:
        evidence = readings(snapshot, "torch.version", "rocm.on_path", "env.LD_LIBRARY_PATH")
        case, found = "version.rocm-mismatch/loader-path", ", ".join(others)
        yield finding(matrix, case, evidence, mine=mine, series=series(mine), others=found)


def _packages(snapshot: Snapshot, matrix: Matrix, mine: str, *, exact: bool) -> Iterator[Finding]:
    """The finding for ROCm pip packages and device packages of torch that are of another build (exact) or series than torch needs."""
    torch, wrong, of = str(snapshot.value("torch.version")), dict[str, str](), set[str]()
    serious = False
    members = matrix.rocm_packages
    for key, fact in sorted(snapshot.facts.items()):
        name, version = key.removeprefix("pkg."), fact.value
        member = next((one for one in members if fnmatchcase(name, one.name)), None) if name != key else None
        if member is None or not isinstance(version, str):
            continue
        needed = torch if member.of == "torch" else mine
        differs = _differs(version, needed) or _differs(version.partition("+rocm")[2], needed.partition("+rocm")[2])
        if differs or (exact and _unequal(version, needed)):
            wrong[name], serious = version, serious or differs
            of.add(member.of)
    if not wrong:
        return
    extras = ["libraries", *(name.removeprefix("rocm-sdk-") for name in wrong if name.startswith("rocm-sdk-device-"))]
    case = "version.rocm-mismatch/exact-packages" if exact else "version.rocm-mismatch/packages"
    case = "version.rocm-mismatch/torch-packages" if "torch" in of else case
    yield finding(
        matrix,
        case,
        readings(snapshot, "torch.version", *(f"pkg.{name}" for name in wrong)),
        severity="error" if serious else "warning",
        torch=torch,
        wrong=f"{' and '.join(f'{n} {v}' for n, v in wrong.items())} {'is' if len(wrong) == 1 else 'are'}",
        pinned="exactly one build of them" if exact else "one series of them",
        extras=",".join(extras),
        version=mine if exact else series(mine),
    )


def _system(snapshot: Snapshot, matrix: Matrix, mine: str) -> Iterator[Finding]:
    """The finding for a torch built from source, which uses the system's ROCm."""
    other = snapshot.value("rocm.version")
    if isinstance(other, str) and snapshot.value("rocm.source") != "wheels" and _differs(other, mine):
        severity: Severity = "error" if series(other, 1) != series(mine, 1) else "warning"
        evidence = readings(snapshot, "torch.version", "rocm.version")
        yield finding(matrix, "version.rocm-mismatch/system", evidence, severity=severity, mine=mine, other=other)


def _differs(one: str, other: str) -> bool:
    """True if the series (major.minor) differ; False if one of them is not a version."""
    a, b = series(one), series(other)
    return a is not None and b is not None and a != b


def _unequal(one: str, other: str) -> bool:
    """True if the builds differ in release or pre-release, over the parts that both name (7.14 and 7.14.0 are equal); False if
    one is not a version."""
    a, b = parse(one), parse(other)
    if a is None or b is None:
        return False
    length = min(len(a.release), len(b.release))
    return a.release[:length] != b.release[:length] or a.pre != b.pre
