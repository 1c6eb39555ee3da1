"""The sections that the pages of all subjects have in common, and the sentences of what the matrix states, each with its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Protocol

from rocm_doctor.explain.index import fold
from rocm_doctor.matrix import Matrix, Statement, Support, Target, TorchBuild
from rocm_doctor.matrix.ranges import bounds
from rocm_doctor.matrix.rows import Row, last_read
from rocm_doctor.model import NO_FAULT, Command, Grade
from rocm_doctor.reports.page import CitedLine, Line, Section
from rocm_doctor.versions import SortKey, contains, parse, sort_key

_SOURCES = 2
"""Sources of a page beside those of its statements."""
MANY = 6
"""Items of a long list that a short page shows."""
_WORST = ("wrong", "broken", "unsupported", "degraded")
_GOOD = {"supported", "works-unofficially", "release-ready", "preview", "runtime-only"}
_BAD = {"dropped", "broken", "harmful", "unstable", "not-listed", "never-listed", "disputed"}


class _Sourced(Protocol):
    @property
    def sources(self) -> tuple[str, ...]: ...


def section(label: str, *lines: Line, short: int | None = None) -> Section:
    """The lines that are not empty. `short`: how many of them a short page shows at most."""
    return Section(label, [line for line in lines if line], short)


def list_faults(rows: Iterable[Row]) -> Section:
    """The section of the rows that name a fault: the worst first, of equals the newest."""
    bad = [row for row in rows if row.status not in NO_FAULT]
    bad.sort(key=lambda row: (_WORST.index(row.status), -last_read(row).toordinal()))
    return section("known", *map(state_row, bad), short=MANY)


def count(number: int, noun: str) -> str:
    """The number with its noun: `1 build`, `2 builds`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def introduce_remedy(grade: Grade | None) -> str:
    """`One report says: ` for a remedy of grade field or hearsay; else empty."""
    return "One report says: " if grade in ("field", "hearsay") else ""


def source(*groups: Iterable[_Sourced]) -> Section:
    """The section of the first sources of these entries."""
    return section("source", *list(dict.fromkeys(text for group in groups for one in group for text in one.sources))[:_SOURCES])


def plan(*options: str) -> tuple[str | Command, ...]:
    """The command that says what to install on a GPU that is not named."""
    return Command(" ".join(("rocm-doctor plan --gpu gfx1100", *options))), "put your target in the place of gfx1100"


def entries(matrix: Matrix, section_: str, of: str) -> list[dict[str, Any]]:
    """The entries of a section without a type here that have this folded name."""
    return [one for one in matrix.plain(section_) or () if fold(one["name"].partition("[")[0]) == of]


def asks(when: Mapping[str, str], names: Iterable[str], version: str) -> bool:
    """True if a row has a condition on one of these facts that names releases, and all of those may hold for the version."""
    conditions = [when[name] for name in names if name in when and when[name] not in ("set", "absent") and when[name][0] != "!"]
    return bool(conditions) and all(not version or may_hold(condition, version) for condition in conditions)


def may_hold(condition: str, version: str) -> bool:
    """True if a range holds for a version; a statement without a range is about all of them."""
    inner = condition.removeprefix("!")
    if not inner or inner == "set" or parse(version) is None:
        return True
    try:
        return any(contains(part, version) for part in inner.split("|")) is not condition.startswith("!")
    except ValueError:
        return inner.startswith(version)


def _span(one: Support) -> tuple[SortKey, SortKey]:
    """(first, last): sort keys of the versions that a statement covers. `6.4.x` is a whole series, an empty end is open."""
    return sort_key(one.since.replace(".x", ".0")), sort_key(one.until.replace(".x", ".99") or "999")


def support_by_system(matrix: Matrix, target: Target) -> Iterator[str]:
    """For each system on which AMD lists a target: the system, and the first and the last ROCm (`now`: open) in words."""
    for system in ("linux", "windows", "wsl"):
        listed = [one for one in _official_support(matrix, system) if target.gfx in one.gfx]
        if listed:
            first, last = min(listed, key=lambda one: _span(one)[0]), max(listed, key=lambda one: _span(one)[1])
            yield f"{system} from ROCm {first.since} to {last.until or 'now'}"


def list_targets(matrix: Matrix, system: str, release: str) -> list[str]:
    """The targets that AMD lists for a ROCm release on a system."""
    spans = ((one.gfx, *_span(one)) for one in _official_support(matrix, system))
    listed = {gfx for targets, first, last in spans if first <= sort_key(release) <= last for gfx in targets}
    return [gfx for gfx in matrix.gfx if gfx in listed]


def _official_support(matrix: Matrix, system: str) -> list[Support]:
    return [one for one in matrix.support if one.state == "supported" and one.grade == "official" and one.os == system]


def find_rows(matrix: Matrix, target: Target) -> Iterator[tuple[Row, dict[str, str]]]:
    """(row, its other conditions) for each row that asks for the target or its family."""
    for row in matrix.rows:
        if _names_value(row, "gpu.gfx", target.gfx) or _names_value(row, "gpu.family", target.family):
            yield row, {name: condition for name, condition in row.when.items() if name not in ("gpu.gfx", "gpu.family")}


def _names_value(row: Row, name: str, value: str) -> bool:
    """True if the row's condition on that fact names this value (a row that excludes others is not about it)."""
    condition = row.when.get(name, "!")
    return condition[0] != "!" and any(fnmatchcase(value.lower(), part.strip().lower()) for part in condition.split("|"))


def builds_with_code(matrix: Matrix, gfx: str) -> list[TorchBuild]:
    """The wheels with code for a target, the newest first."""
    return sorted((b for b in matrix.torch if gfx in b.gfx), key=lambda b: (sort_key(b.torch), sort_key(b.rocm)), reverse=True)


def state_row(row: Row) -> CitedLine:
    """A row with the releases that it is about."""
    return CitedLine(f"{row.title} [{row.key}] ({', '.join((*bounds(row.when), row.status, row.grade))})", row.sources[0])


def state_fact(one: Statement, subject: str = "") -> CitedLine:
    """A statement with the releases and the part that it is about. `subject`: what it is about, where the page does not say it."""
    about = ", ".join(filter(None, (subject, one.version, f"ROCm {one.rocm}" if one.rocm not in ("", "any") else "", one.scope)))
    return CitedLine(f"{about}: {one.words}" if about else one.words, one.sources[0])


def state_build(build: TorchBuild, gfx: str = "") -> CitedLine:
    """A wheel: its targets, or whether its rocBLAS serves one; its Pythons, what goes with it, and how that is known."""
    if gfx:
        serves = "not known" if not build.blas else "yes" if gfx in build.blas else "NO"
        code = f"rocBLAS kernels {serves}"
    else:
        left = f" and {len(build.gfx) - 6} more" if len(build.gfx) > 6 else ""
        code = f"for {', '.join(build.gfx[:6])}{left}" if build.gfx else "targets not known"
    pythons = ", ".join(build.pythons) or "not known"
    triton = f", {build.triton}" if build.triton else ""
    return CitedLine(
        f"torch {build.local or build.torch}: ROCm {build.rocm}, Python {pythons}, {code}{triton} ({build.gfx_evidence or build.evidence})",
        build.sources[0],
    )


def state_support(matrix: Matrix, gfx: str) -> Iterator[CitedLine]:
    """What sources say of a target, the newest first; where one says works and another does not, both say so."""
    found = sorted((one for one in matrix.support if gfx in one.gfx), key=lambda one: (_span(one)[1], one.os), reverse=True)
    for one in found:
        to = f" to {one.until}" if one.until and one.until != one.since else "" if one.until else " and later"
        other = ", and another source says otherwise" if any(_contradict(one, other) for other in found) else ""
        yield CitedLine(f"ROCm {one.since}{to} on {one.os}: {one.state} ({one.grade}{other}). {one.words}", one.sources[0])


def _contradict(one: Support, other: Support) -> bool:
    """True if two statements speak of one system and a release in common, and one is good news and the other bad."""
    (first, last), (others_first, others_last) = _span(one), _span(other)
    states = {one.state, other.state}
    return one.os == other.os and first <= others_last and others_first <= last and bool(states & _GOOD) and bool(states & _BAD)
