"""The torch builds that a machine could run, each with its sources, best first; and cheap checks that reject the others."""

from __future__ import annotations

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix.citations import UNADDRESSED
from rocm_doctor.matrix.types import Override, TorchBuild
from rocm_doctor.model import GRADES, Finding, Grade
from rocm_doctor.plan.catalog import Catalog, WheelIndex
from rocm_doctor.plan.evidence import Claim, Statements, drop_repetitions, opposing_claims, statements, supporting_claims
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.rules.build import is_unseen
from rocm_doctor.rules.driver_range import driver_release, outside
from rocm_doctor.rules.override import NAME as OVERRIDE
from rocm_doctor.versions import release, sort_key

_PLATFORM = {"linux": ("linux", "manylinux"), "wsl": ("linux", "manylinux"), "windows": ("win",)}
_NO_REPORT = {
    "windows": "no source says that it runs on this target on Windows",
    "wsl": "no source says that it runs on this target in WSL, where the runtime has to find the GPU behind /dev/dxg",
}


class Rejected(msgspec.Struct, frozen=True):
    """A candidate and the first reason against it, with its source; `finding` where it was judged, and `more` findings.

    `absent`: there is no wheel of it for this system or Python at any address that is known.
    """

    build: TorchBuild
    why: str
    source: str = ""
    finding: Finding | None = None
    more: tuple[Finding, ...] = ()
    absent: bool = False


class Candidate(msgspec.Struct, frozen=True):
    """A build that the machine could run. `claims`: the evidence for it; `grade`: the best of theirs; `override`: it runs a
    sibling's code, by HSA_OVERRIDE_GFX_VERSION; `env`: the variables it needs."""

    build: TorchBuild
    index: WheelIndex
    grade: Grade
    claims: tuple[Claim, ...]
    override: Override | None = None
    env: dict[str, str] = {}

    @property
    def known_good(self) -> bool:
        """True if someone ran this build on this target."""
        return any(s.known_good for s in self.claims)


class Unfit(Exception):
    """A reason that rules a build out, with its source. `absent`: there is no wheel for this machine."""

    def __init__(self, why: str, source: str = "", *, absent: bool = False) -> None:
        super().__init__(why)
        self.why, self.source, self.absent = why, source, absent


def candidates(machine: Machine, catalog: Catalog) -> tuple[list[Candidate], list[Rejected]]:
    """(candidates, rejected) of all builds of the catalog: the candidates best first, the rejected each with the first reason
    against it."""
    fit: list[Candidate] = []
    out: list[Rejected] = []
    claims = statements(machine, catalog.matrix)
    for build in catalog.matrix.torch:
        try:
            fit.append(_candidate(build, machine, catalog, claims))
        except Unfit as exc:
            out.append(Rejected(build, exc.why, exc.source or build.sources[0], absent=exc.absent))
    return sorted(fit, key=rank), out


def rank(candidate: Candidate) -> tuple[object, ...]:
    """A key that sorts candidates, best first: whether it runs on this GPU at all, then who vouches for it, then how new it is.

    - this GPU's own code before a sibling's, which is a practice of users that no vendor tests;
    - a release before a nightly, which no pin can name;
    - a wheel that was seen before one that follows from a build script;
    - official before upstream before field;
    - the main build of a release, or one that someone ran, before its other builds;
    - the newest torch, and of two alike the one whose device code needs no extra, or the newer ROCm.
    """
    return (
        candidate.override is not None,
        candidate.index.nightly,
        is_unseen(candidate.build),
        GRADES.index(candidate.grade),
        not (candidate.build.primary or candidate.known_good),
        tuple(-n for n in release(candidate.build.torch) or ()),
        candidate.index.extras,
        tuple(-n for n in release(candidate.build.rocm) or ()),
    )


def _candidate(build: TorchBuild, machine: Machine, catalog: Catalog, about: Statements) -> Candidate:
    index = catalog.build_index(build)
    if build.family == "amd-listing" or (index and index.kind == "files"):
        raise Unfit("AMD lists it as single files, not as a package index", absent=True)
    if index is None:
        raise Unfit("no address of its index is known", absent=True)
    _check_system(build, index, machine)
    if index.nightly:
        _check_driver(index, machine, catalog)
    targets = build.gfx or index.devices
    override = _find_code(build, targets, machine, catalog)
    claims = _claims(build, index, override, machine, about)
    if not claims:
        words = f"no page says that the nightlies run on {machine.gfx}, only that a device package is built"
        raise Unfit(words, index.sources[0])
    spoken = min((GRADES.index(s.grade) for s in claims if not s.of_code), default=len(GRADES))
    for claim in opposing_claims(build, machine, about):
        if GRADES.index(claim.grade) <= spoken:
            raise Unfit(claim.words, claim.source)
    if machine.system != "linux" and all(s.of_code for s in claims):
        raise Unfit(_NO_REPORT[machine.system], index.sources[0])
    env = {OVERRIDE: override.value} if override else {}
    for step in catalog.system_steps(machine.system, machine.gfx, build.rocm):
        env |= step.env
    return Candidate(build, index, min((s.grade for s in claims), key=GRADES.index), drop_repetitions(claims), override, env)


def _check_system(build: TorchBuild, index: WheelIndex, machine: Machine) -> None:
    platforms, pythons = build.platforms or index.platforms, build.pythons or index.pythons
    if not any(p.startswith(_PLATFORM[machine.system]) for p in platforms):
        raise Unfit(f"no wheel for {machine.system}" if platforms else "its platforms are unknown", absent=True)
    if machine.python and pythons and machine.python not in pythons:
        raise Unfit(f"no wheel for Python {machine.python}", absent=True)


def _check_driver(index: WheelIndex, machine: Machine, catalog: Catalog) -> None:
    """Raises Unfit if the driver is too old for the newest dated ROCm release: the ROCm of a nightly has no number and is at
    least as new, so this is called for the index of a nightly only. Nothing is checked if the driver has no known release, and
    outside of Linux."""
    newest = max((r.version for r in catalog.matrix.rocm if r.date and release(r.version)), key=sort_key, default="")
    named = machine.system == "linux" and machine.driver not in ("", INBOX)
    driver = driver_release(machine.driver, catalog.matrix) if named else ""
    if newest and driver and outside(driver, newest, catalog.matrix) == "older":
        raise Unfit(f"driver {driver} is too old for ROCm {newest}, and the nightlies are newer", index.sources[0])


def _find_code(build: TorchBuild, targets: tuple[str, ...], machine: Machine, catalog: Catalog) -> Override | None:
    """None if the build has code and BLAS kernels for the GPU; else the override that makes it run a sibling's. Raises Unfit if
    the targets of the build are not known, or if it has neither."""
    if not targets:
        raise Unfit("the targets of its torch are unknown")
    lacks = _lacks(build, targets, machine.gfx, None)
    if not lacks:
        return None
    for override in catalog.matrix.gfx[machine.gfx].overrides if machine.system == "linux" else ():
        sibling = override.verdict in ("sibling", "faulty") and covers(targets, machine.gfx) is False
        if sibling and not _lacks(build, targets, machine.gfx, override.value):
            return override
    raise Unfit(lacks, _code_source(build))


def _lacks(build: TorchBuild, targets: tuple[str, ...], gfx: str, override: str | None) -> str:
    if covers(targets, gfx, override) is not True:
        return f"contains no code for {gfx}"
    if build.blas and covers(build.blas, gfx, override) is False:
        return f"its rocBLAS has no kernels for {gfx}" + (f" ({build.blas_evidence})" if build.blas_evidence else "")
    return ""


def _code_source(build: TorchBuild) -> str:
    """The source of a build's list of targets: the last of its sources that has an address; without one the last."""
    return next((s for s in reversed(build.sources) if not s.startswith(UNADDRESSED)), build.sources[-1])


def _claims(build: TorchBuild, index: WheelIndex, override: Override | None, machine: Machine, about: Statements) -> list[Claim]:
    """The evidence for a build. For a sibling's code: the report of those who run it. For native code: supporting statements and
    rows, and the list of targets; empty without any."""
    if override:
        return [Claim("field", override.words, override.sources[0])]
    claims = list(supporting_claims(build, machine, about))
    if build.gfx and not index.nightly:
        where = f" ({build.gfx_evidence})" if build.gfx_evidence else ""
        claims.append(Claim(build.gfx_grade, f"contains code for {machine.gfx}{where}", _code_source(build), of_code=True))
    elif index.devices:
        claims.append(Claim("upstream", f"has device code for {machine.gfx} in its index", index.sources[0], of_code=True))
    return claims
