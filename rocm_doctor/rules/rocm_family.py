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

from rocm_doctor.commands import fill
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import RocmPackage
from rocm_doctor.model import Finding, Severity, Snapshot
from rocm_doctor.rules.findings import finding, readings
from rocm_doctor.versions import parse, series

_MIXED = ("https://github.com/ROCm/pytorch/issues/1340", "https://github.com/pytorch/pytorch/issues/118457")
_PINS = ("ROCm/TheRock docs/packaging/python_packaging.md@89553ce", "https://github.com/pytorch/pytorch/pull/190276")


def rocm_of_the_family(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`version.rocm-mismatch`, judged by the family of the wheel."""
    family, mine = snapshot.get("torch.family").value, snapshot.get("torch.rocm").value
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
    others = [entry for entry in _entries(snapshot.get("rocm.on_path").value) if _differs(entry.rpartition("=")[2], mine)]
    if others:
        yield finding(
            matrix,
            "version.rocm-mismatch",
            title=f"LD_LIBRARY_PATH leads to another ROCm than the {series(mine)} inside torch",
            cause=f"This wheel brings ROCm {mine}. LD_LIBRARY_PATH offers {', '.join(others)} to the loader and to every "
            "extension, so one process may load libraries of two releases.",
            evidence=readings(snapshot, "torch.version", "rocm.on_path", "env.LD_LIBRARY_PATH"),
            severity="warning",
            confidence="medium",
            sources=_MIXED,
            commands=("unset LD_LIBRARY_PATH",),
        )


def _entries(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _packages(snapshot: Snapshot, matrix: Matrix, mine: str, *, exact: bool) -> Iterator[Finding]:
    """The finding for ROCm pip packages and device packages of torch that are of another build (exact) or series than torch needs."""
    torch, wrong, of = str(snapshot.get("torch.version").value), dict[str, str](), set[str]()
    serious = False
    members = matrix.section("rocm_packages", RocmPackage)
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
    yield finding(
        matrix,
        "version.rocm-mismatch",
        title=f"torch {torch} needs packages of its own release, but {' and '.join(f'{n} {v}' for n, v in wrong.items())} "
        + ("is" if len(wrong) == 1 else "are")
        + " installed",
        cause="A torch of this family contains no ROCm: it loads the pip packages, and was built against "
        + ("exactly one build of them." if exact else "one series of them."),
        evidence=readings(snapshot, "torch.version", *(f"pkg.{name}" for name in wrong)),
        severity="error" if serious else "warning",
        sources=_PINS,
        advice="Install torch, its device packages and the rocm packages from the same index in one command, so that the pins are kept; "
        "rocm-doctor plan has the command.",
        commands=("rocm-doctor plan",)
        if "torch" in of
        else fill("pip install 'rocm[{extras}]=={version}'", extras=",".join(extras), version=mine)
        if exact
        else fill("pip install 'rocm[libraries,device-all]=={version}.*'", version=series(mine)),
        verify=("pip check",),
    )


def _system(snapshot: Snapshot, matrix: Matrix, mine: str) -> Iterator[Finding]:
    """The finding for a torch built from source, which uses the system's ROCm."""
    other = snapshot.get("rocm.version").value
    if not isinstance(other, str) or snapshot.get("rocm.source").value == "wheels" or not _differs(other, mine):
        return
    severity: Severity = "error" if series(other, 1) != series(mine, 1) else "warning"
    yield finding(
        matrix,
        "version.rocm-mismatch",
        title=f"torch was built with ROCm {mine}, the system has {other}",
        cause="This torch contains no ROCm and loads the system's libraries, which are of another release than it was built with.",
        evidence=readings(snapshot, "torch.version", "rocm.version"),
        severity=severity,
        sources=_MIXED,
        advice="Build torch against the installed ROCm, or install a wheel that contains its own.",
        commands=("rocm-doctor plan",),
    )


def _differs(one: str, other: str) -> bool:
    """True if the series (major.minor) differ; False if one of them is not a version."""
    a, b = series(one), series(other)
    return a is not None and b is not None and a != b


def _unequal(one: str, other: str) -> bool:
    """True if the builds differ in release or pre-release, over the parts that both name (7.14 and 7.14.0 are equal)."""
    a, b = parse(one), parse(other)
    if a is None or b is None:
        return False
    length = min(len(a.release), len(b.release))
    return a.release[:length] != b.release[:length] or a.pre != b.pre
