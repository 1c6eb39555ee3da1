"""Evidence that a ROCm release runs, or does not, on a target and a system: support statements and known stacks of the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.coords import COORDS
from rocm_doctor.matrix import Matrix, Support, TorchBuild
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Fact, Grade
from rocm_doctor.plan.machine import Machine
from rocm_doctor.rules.conditions import holds
from rocm_doctor.versions import release

_FOR = ("supported", "release-ready", "works-unofficially", "preview")
_AGAINST = ("broken", "harmful", "build-only", "unstable")
_VERBS = {
    "supported": "is supported",
    "release-ready": "is marked as tested and released",
    "works-unofficially": "works unofficially",
    "preview": "is a preview",
    "broken": "is broken",
    "harmful": "does harm",
    "build-only": "is only built, not tested,",
    "unstable": "is unstable",
}
_NIGHTLY = (999,)
"""Newer than every release; tables of a development branch end with `dev`."""


class Claim(NamedTuple):
    """One statement. `words`: what it says of a build; `known_good`: someone ran this build on this target; `of_code`: only a
    list of targets says so."""

    grade: Grade
    words: str
    source: str
    known_good: bool = False
    of_code: bool = False


class Statements(NamedTuple):
    """What the matrix says of one target on one system. `rows`: those of status works; `history`: AMD's latest word on it is no
    longer support."""

    support: tuple[Support, ...]
    rows: tuple[Row, ...]
    history: bool


def drop_repetitions(voices: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims without repetitions of the same words and grade."""
    return tuple({(v.grade, v.words): v for v in reversed(tuple(voices))}.values())[::-1]


def statements(machine: Machine, matrix: Matrix) -> Statements:
    """Support statements for the target and system, and the rows that say of this target that something works."""
    about = tuple(s for s in matrix.support if machine.gfx in s.gfx and s.os == machine.system)
    works = (row for row in matrix.rows if row.status == "works" and not row.harmless and "gpu.gfx" in row.when)
    if machine.system != "linux":  # a report that names no system is from Linux
        works = (row for row in works if row.when.keys() & {"platform", "wsl"})
    return Statements(about, tuple(r for r in works if machine.gfx in r.when["gpu.gfx"].split("|")), has_ended(about))


def supporting_claims(build: TorchBuild, machine: Machine, stated: Statements) -> Iterator[Claim]:
    """Claims for this build on this target and system: statements that its ROCm is supported, tested, a preview or works
    unofficially, and rows about this very build. An official statement has the grade `upstream` where AMD has ended its support
    since."""
    for support in (s for s in stated.support if s.state in _FOR and spans(s.since, s.until, build.rocm)):
        words = _words(support, build, machine.gfx) + _scope(support, machine.gfx)
        if stated.history and support.grade == "official":
            yield Claim("upstream", f"{words}; AMD has ended that since", support.sources[0])
        else:
            yield Claim(support.grade, words, support.sources[0])
    for row in stated.rows:
        if _is_about_build(row.when, build):
            yield Claim(row.grade, row.title, row.sources[0], known_good=True)


def opposing_claims(build: TorchBuild, machine: Machine, stated: Statements) -> Iterator[Claim]:
    """Statements that this ROCm does not run there, or was only built."""
    for support in (s for s in stated.support if s.state in _AGAINST and spans(s.since, s.until, build.rocm)):
        yield Claim(support.grade, f"{_words(support, build, machine.gfx)}: {support.words}".rstrip("."), support.sources[0])


def _words(support: Support, build: TorchBuild, gfx: str) -> str:
    return f"ROCm {'of the nightlies' if build.rocm == 'nightly' else build.rocm} {_VERBS[support.state]} on {gfx}"


def has_ended(about: Sequence[Support]) -> bool:
    """True if AMD's latest word is no longer support: what it said of older releases is history then."""
    words = [s for s in about if s.grade == "official"]
    latest = max((_numbers(s.until or "dev") for s in words), default=())
    return bool(words) and not any(s.state in ("supported", "preview") for s in words if _numbers(s.until or "dev") == latest)


def _scope(support: Support, gfx: str) -> str:
    """The products that a statement names for the target; a scope may list them as `gfx1100: ...; gfx1101: ...`."""
    parts = dict(part.split(": ", 1) for part in support.scope.split("; ") if part.startswith("gfx") and ": " in part)
    mine = parts.get(gfx, "") if parts or "; " in support.scope or support.scope.startswith("gfx") else support.scope
    return f" ({mine})" if mine else ""


def spans(since: str, until: str, rocm: str) -> bool:
    """True if `rocm` is between `since` and `until`, bounds included. A version with fewer components matches every longer one: `7.2`
    means any 7.2.x. Empty `until`: no upper bound."""
    mine, low, high = (_numbers(text) for text in (rocm, since, until or "dev"))
    if not mine or not low or not high:
        return False
    return low[: len(mine)] <= mine and mine[: len(high)] <= high


def _numbers(text: str) -> tuple[int, ...]:
    return _NIGHTLY if text in ("nightly", "dev") else release(text.replace(".x", "")) or ()


def _is_about_build(when: dict[str, str], build: TorchBuild) -> bool:
    """True if a row about the target is about this build: it names its version or family, and what it asks of torch holds."""
    facts = {"torch.version": build.torch, "torch.rocm": build.rocm, "rocm.loaded": build.rocm, "torch.family": build.family}
    asked = {name: condition for name, condition in when.items() if name in facts}
    if not {"torch.version", "torch.family"} & asked.keys():
        return False
    return all(holds(COORDS[name].kind, condition, Fact(facts[name])) for name, condition in asked.items())
