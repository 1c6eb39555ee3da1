"""What the matrix states of a target, a release or a version, each statement with its source."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from rocm_doctor.matrix import Fact, Matrix, Support, Target, TorchBuild
from rocm_doctor.matrix.ranges import bounds
from rocm_doctor.model import Row
from rocm_doctor.reports.page import Stated
from rocm_doctor.versions import SortKey, contains, parse, sort_key

_GOOD = {"supported", "works-unofficially", "release-ready", "preview", "runtime-only"}
_BAD = {"dropped", "broken", "harmful", "unstable", "not-listed", "never-listed", "disputed"}


def may_hold(condition: str, version: str) -> bool:
    """Whether a range holds for a version; a statement without a range is about all of them."""
    inner = condition.removeprefix("!")
    if not inner or inner == "set" or parse(version) is None:
        return True
    try:
        return any(contains(part, version) for part in inner.split("|")) is not condition.startswith("!")
    except ValueError:
        return inner.startswith(version)


def first_version(one: Support) -> SortKey:
    """Sort key of the first version that a statement covers (`6.4.x` is a whole series)."""
    return sort_key(one.since.replace(".x", ".0"))


def last_version(one: Support) -> SortKey:
    """Sort key of the last version that a statement covers; an empty end is open."""
    return sort_key(one.until.replace(".x", ".99") or "999")


def support_by_system(matrix: Matrix, target: Target) -> Iterator[tuple[str, str, str, str]]:
    """For each system on which AMD lists a target: the system, the first and the last ROCm (`now`: open), and who says the last."""
    for system in ("linux", "windows", "wsl"):
        found = [one for one in _official_support(matrix) if target.gfx in one.gfx and one.os == system]
        if found:
            last = max(found, key=last_version)
            yield system, min(found, key=first_version).since, last.until or "now", last.sources[0]


def list_targets(matrix: Matrix, system: str, release: str) -> list[str]:
    """The targets that AMD lists for a ROCm release on a system."""
    found = [
        one
        for one in _official_support(matrix)
        if one.os == system and first_version(one) <= sort_key(release) <= last_version(one)
    ]
    return [gfx for gfx in matrix.gfx if any(gfx in one.gfx for one in found)]


def _official_support(matrix: Matrix) -> list[Support]:
    return [one for one in matrix.support if one.state == "supported" and one.grade == "official"]


def find_rows(matrix: Matrix, target: Target) -> Iterator[tuple[Row, dict[str, str]]]:
    """The rows that ask for a target or its family, each with its other conditions."""
    for row in matrix.rows:
        if _names_value(row, "gpu.gfx", target.gfx) or _names_value(row, "gpu.family", target.family):
            yield row, {name: condition for name, condition in row.when.items() if name not in ("gpu.gfx", "gpu.family")}


def _names_value(row: Row, name: str, value: str) -> bool:
    """Whether the row's condition on that fact names this value (a row that excludes others is not about it)."""
    condition = row.when.get(name, "!")
    return condition[0] != "!" and any(fnmatchcase(value.lower(), part.strip().lower()) for part in condition.split("|"))


def builds_with_code(matrix: Matrix, gfx: str) -> list[TorchBuild]:
    """The wheels with code for a target, the newest first."""
    return sorted((b for b in matrix.torch if gfx in b.gfx), key=lambda b: (sort_key(b.torch), sort_key(b.rocm)), reverse=True)


def state_row(row: Row) -> Stated:
    """A row with the releases that it is about."""
    return Stated(f"{row.title} [{row.key}] ({', '.join((*bounds(row.when), row.status, row.grade))})", row.sources[0])


def state_fact(one: Fact, subject: str = "") -> Stated:
    """A statement with the releases and the part that it is about. `subject`: what it is about, where the page does not say it."""
    about = ", ".join(filter(None, (subject, one.version, f"ROCm {one.rocm}" if one.rocm not in ("", "any") else "", one.scope)))
    return Stated(f"{about}: {one.words}" if about else one.words, one.sources[0])


def state_build(build: TorchBuild, gfx: str = "") -> Stated:
    """A wheel: its targets, or whether its rocBLAS serves one; its Pythons, what goes with it, and how that is known."""
    if gfx:
        serves = "not known" if not build.blas else "yes" if gfx in build.blas else "NO"
        code = f"rocBLAS kernels {serves}"
    else:
        left = f" and {len(build.gfx) - 6} more" if len(build.gfx) > 6 else ""
        code = f"for {', '.join(build.gfx[:6])}{left}" if build.gfx else "targets not known"
    pythons = ", ".join(f"{tag[2]}.{tag[3:]}" for tag in build.pythons) or "not known"
    triton = f", {build.triton}" if build.triton else ""
    return Stated(
        f"torch {build.local or build.torch}: ROCm {build.rocm}, Python {pythons}, {code}{triton} ({build.gfx_evidence or build.evidence})",
        build.sources[0],
    )


def state_support(matrix: Matrix, gfx: str) -> Iterator[Stated]:
    """What sources say of a target, the newest first; where one says works and another does not, both say so."""
    found = sorted((one for one in matrix.support if gfx in one.gfx), key=lambda one: (last_version(one), one.os), reverse=True)
    for one in found:
        to = f" to {one.until}" if one.until and one.until != one.since else "" if one.until else " and later"
        other = ", and another source says otherwise" if any(_contradict(one, other) for other in found) else ""
        yield Stated(f"ROCm {one.since}{to} on {one.os}: {one.state} ({one.grade}{other}). {one.words}", one.sources[0])


def _contradict(one: Support, other: Support) -> bool:
    """Two statements that speak of one system and a release in common, and one is good news and the other bad."""
    states = {one.state, other.state}
    meet = first_version(one) <= last_version(other) and first_version(other) <= last_version(one)
    return meet and one.os == other.os and bool(states & _GOOD) and bool(states & _BAD)
