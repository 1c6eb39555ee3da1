"""Which torch an environment ends up with, as its literal text says: the image, then each installation in its order.

pip asks all of its indexes and takes the highest version; a local part (+rocm6.4) is higher than the same version without one. uv takes
a package from the first index that has it, extra indexes first. Where an index, an image or an earlier step is not known, neither is torch.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from rocm_doctor import versions
from rocm_doctor.lint import catalog
from rocm_doctor.lint.catalog import PYPI, RequiresTorch, Source
from rocm_doctor.lint.model import Environment, Install, LintTarget, PackageIndex, Place, Requirement, Unread, UnreadReason
from rocm_doctor.matrix import Matrix


class Torch(NamedTuple):
    """A torch. `vendor`: rocm, cuda, cpu, or none where pip finds no such build; `version`: without its local part; `rocm`: its
    ROCm release (both may be empty: not known); `place`: what decides; `reason`: why it is this one; `gpus`: those that its index
    or its device packages are for; `requirement`, `step`: what asks for it, in which installation; `is_literal`: nothing unread
    comes before it."""

    vendor: str
    version: str
    rocm: str
    place: Place
    reason: str
    gpus: tuple[str, ...] = ()
    requirement: Requirement | None = None
    step: Install | None = None
    is_literal: bool = True

    @property
    def local(self) -> str:
        """The version with its local part, as torch prints it; empty where it is not known."""
        if self.vendor == "rocm":
            return f"{self.version}+rocm{self.rocm}" if self.version and self.rocm else ""
        return self.version


def outcome(environment: Environment, target: LintTarget, matrix: Matrix) -> Torch | Unread | None:
    """The torch of an environment; why it is not known; None where nothing brings one."""
    now: Torch | Unread | None = _image_torch(environment, matrix)
    there = {"torchvision", "torchaudio", *re.split(r"\W+", environment.image.name)} if environment.image and now else set[str]()
    certain = True
    for step in environment.steps:
        if isinstance(step, Unread):
            certain = False
            continue
        asks_for_build = any(r.name == "torch" and catalog.local_build(r.specifier, r.url) for r in step.requirements)
        if environment.has_torch_elsewhere and not asks_for_build:
            continue
        then = _apply_install(step, now, target, matrix, frozenset(there))
        if isinstance(then, Torch) and then is not now:
            now = then._replace(is_literal=certain and then.is_literal)
        elif then is not now:
            now = then
        there |= {r.name for r in step.requirements}
    return now


def _image_torch(environment: Environment, matrix: Matrix) -> Torch | Unread | None:
    if environment.image is None:
        return None
    facts = catalog.image_facts(environment.image.name, matrix)
    if facts.torch == "":
        return Unread(environment.image.place, UnreadReason.IMAGE, True)
    if facts.torch == "none":
        return None
    return Torch(facts.torch, facts.version, facts.rocm, environment.image.place, f"the image {environment.image.name} brings it")


def _apply_install(
    step: Install, now: Torch | Unread | None, target: LintTarget, matrix: Matrix, there: frozenset[str]
) -> Torch | Unread | None:
    """The torch after one installation; `now`, the same object, if the installation does not change it."""
    before = None if step.ignores_installed else now
    requests = [r for r in step.requirements if r.name == "torch" and catalog.applies(r.marker, target)]
    if not requests:
        return _required_torch(step, before, now, target, matrix, there)
    request = requests[-1]
    build = catalog.local_build(request.specifier, request.url)
    if isinstance(before, Unread) and not build and not step.upgrade:
        return before  # what is there may satisfy the requirement
    if isinstance(before, Torch) and not step.upgrade and _keeps_torch(before, request, build):
        return now
    then = _resolve(step, request, build, target, matrix)
    open_ = isinstance(before, Torch) and before.vendor == "rocm" and not before.version and not build
    if open_ and isinstance(then, Torch) and then.vendor != "rocm":
        return then._replace(is_literal=False)  # the pin may be the very torch of the image
    return then


def _keeps_torch(now: Torch, request: Requirement, build: tuple[str, str] | None) -> bool:
    """True if pip keeps the torch that is there."""
    if build and (build[0] != now.vendor or (build[1] and now.rocm and build[1] != now.rocm)):
        return False
    if request.url:
        return False
    return catalog.admits(request.specifier, now.version) if now.version else not catalog.pinned_version(request.specifier)


Asked = tuple[Source, Union[PackageIndex, None]]
"""An index that is asked, and where it is named; None for the package index that is asked by default."""


def _sources(step: Install, package: str) -> tuple[list[Asked], bool]:
    """(indexes, is_first_taken): the indexes that are asked for a package, in the order of the tool; True if the first one that
    has it settles it, as with uv or with an index that is bound to the package."""
    bound = [i for i in step.indexes if package in i.packages]
    if bound:
        return [(catalog.classify_index(bound[-1]), bound[-1])], True
    free = [i for i in step.indexes if not i.packages]
    defaults: list[Asked] = [(catalog.classify_index(i), i) for i in free if i.role == "default"]
    default = defaults[-1:] or [(PYPI, None)]
    extras: list[Asked] = [(s, i) for i in free if i.role != "default" and (s := catalog.classify_index(i)).vendor != "none"]
    is_first_taken = step.tool == "uv"
    return (extras + default if is_first_taken else default + extras), is_first_taken


def _resolve(
    step: Install, request: Requirement, build: tuple[str, str] | None, target: LintTarget, matrix: Matrix
) -> Torch | Unread:
    """The torch that a request takes from the indexes; Unread if an index, an address or a local part is not known."""
    version = catalog.pinned_version(request.specifier)
    devices = tuple(e.removeprefix("device-") for e in request.extras if e.startswith("device-gfx"))
    indexes, is_first_taken = _sources(step, "torch")
    if build:
        missing = _explain_missing(request, build[1], indexes, matrix) if build[0] == "rocm" and not request.url else ""
        if missing:
            certain = step.is_complete or bool(step.indexes)
            return Torch("none", version, build[1], request.place, missing, requirement=request, step=step, is_literal=certain)
        why = f"it is asked for as {request.url or request.specifier}"
        return Torch(build[0], version, build[1], request.place, why, devices, request, step)
    if "+" in request.specifier or request.url:
        return Unread(request.place, UnreadReason.INDEX, True)
    if any(s.vendor == "unknown" for s, _ in indexes):
        return Unread(next(i for s, i in indexes if s.vendor == "unknown" and i).place, UnreadReason.INDEX, True)
    if is_first_taken:
        choice = _make_torch(*indexes[0], request, _offer(indexes[0][0], request, target, matrix), matrix, target.python)
    else:
        choice = _highest_torch(indexes, request, target, matrix)
    return choice._replace(gpus=devices or choice.gpus, requirement=request, step=step)


def _offer(source: Source, request: Requirement, target: LintTarget, matrix: Matrix) -> str | None:
    """The version that an index offers; empty where it is not known; None where it has none."""
    pin = catalog.pinned_version(request.specifier)
    if source.vendor != "rocm":
        return pin or catalog.newest_torch(matrix, request.specifier, target.python)
    if source.nightly or not catalog.list_builds(matrix, source.rocm):
        return pin
    builds = catalog.list_builds(matrix, source.rocm, request.specifier, target.python)
    return builds[0].torch if builds else None


def _highest_torch(indexes: list[Asked], request: Requirement, target: LintTarget, matrix: Matrix) -> Torch:
    """The torch that pip takes from several indexes: the highest version, and of two equal ones ROCm before CUDA, CPU and the
    package index, since a local part is higher than none. If one is the index of a ROCm whose versions are not known, and another
    index has an offer too, the answer is that ROCm index with `is_literal` False. If no index has an offer, `vendor` is none.
    `reason` says so where the package index wins over ROCm."""
    offers = [(source, index, _offer(source, request, target, matrix)) for source, index in indexes]
    offered = [(s, i, v) for s, i, v in offers if v is not None]
    if not offered:
        source, index = next(((s, i) for s, i in indexes if s.vendor == "rocm"), indexes[0])
        return _make_torch(source, index, request, None, matrix, target.python)
    unlisted = next(((s, i) for s, i, v in offered if s.vendor == "rocm" and not v), None)
    if unlisted and len(offered) > 1:
        return _make_torch(*unlisted, request, "", matrix)._replace(is_literal=False)
    rank = {"rocm": 3, "cuda": 2, "cpu": 1, "pypi": 0}
    source, index, version = max(offered, key=lambda o: (versions.sort_key(o[2] or "0"), rank[o[0].vendor]))
    lower = next(((s, v) for s, _, v in offers if s.vendor == "rocm" and s is not source), None)
    torch = _make_torch(source, index, request, version, matrix)
    if lower and source.vendor == "pypi":
        has = f"whose newest fitting torch is {lower[1]}" if lower[1] else f"which has no torch {request.specifier}"
        return torch._replace(
            reason=f"pip takes the highest version of all indexes: {version} from the package index, not from rocm{lower[0].rocm}, {has}"
        )
    return torch


def _make_torch(
    source: Source, index: PackageIndex | None, request: Requirement, version: str | None, matrix: Matrix, python: str = ""
) -> Torch:
    where = index.url if index else "the package index"
    if version is None:
        builds = catalog.list_builds(matrix, source.rocm)
        for_python = f" for Python {python}" if python else ""
        reason = f"it has {builds[-1].torch} to {builds[0].torch}" if builds else "none is known"
        return Torch("none", "", source.rocm, request.place, f"{where} has no torch{request.specifier}{for_python} ({reason})")
    vendor = "cuda" if source.vendor in ("pypi", "none") else source.vendor
    return Torch(vendor, version, source.rocm, request.place, f"it comes from {where}", source.gpus)


def _explain_missing(request: Requirement, rocm: str, indexes: list[Asked], matrix: Matrix) -> str:
    """A sentence that says why the asked indexes lack the pinned torch for this ROCm; empty where one of them may have it."""
    if all(s.vendor == "pypi" for s, _ in indexes):
        return f"no index that is asked has torch{request.specifier}"
    rocm_sources = [s for s, _ in indexes if s.vendor == "rocm"]
    builds = [catalog.list_builds(matrix, s.rocm) for s in rocm_sources]
    if (
        not rocm_sources
        or not all(builds)
        or any(s.nightly for s in rocm_sources)
        or any(s.vendor == "unknown" for s, _ in indexes)
    ):
        return ""
    version = catalog.pinned_version(request.specifier)
    oldest = min((b.torch for b in matrix.torch if versions.parse(b.torch)), key=versions.sort_key)
    if not version or versions.sort_key(version) < versions.sort_key(oldest):
        return ""
    if any(b.torch == version and b.rocm and b.local.endswith(f"+rocm{rocm}") for some in builds for b in some):
        return ""
    return f"the index of rocm{rocm_sources[-1].rocm} has no torch{request.specifier}"


def _required_torch(
    step: Install,
    before: Torch | Unread | None,
    now: Torch | Unread | None,
    target: LintTarget,
    matrix: Matrix,
    there: frozenset[str],
) -> Torch | Unread | None:
    """The torch after an installation that does not ask for torch: a package may require it where there is none, or pin another
    one. Else `now`."""
    if step.without_dependencies or isinstance(before, Unread):
        return now
    bringers = catalog.brings_torch(matrix)
    requests = [r for r in step.requirements if catalog.applies(r.marker, target) and not r.url]
    if before is None:
        bringer = next((r for r in requests if r.name in bringers or "torch" in r.extras), None)
        if bringer is None:
            return now
        sources, first = _sources(step, "torch")
        if any(s.vendor != "pypi" for s, _ in sources[: 1 if first else None]):
            return Unread(bringer.place, UnreadReason.INDEX, True)
        entry = bringers.get(bringer.name)
        why, certain = (
            f"{bringer.name} requires torch, and the package index has CUDA builds",
            not entry or entry.grade != "hearsay",
        )
        return Torch(
            "cuda", _pinned_torch(entry, bringer), "", bringer.place, why, requirement=bringer, step=step, is_literal=certain
        )
    for r in requests:
        entry = bringers.get(r.name)
        if entry is None or any(s.vendor not in ("pypi", "none") for s, _ in _sources(step, r.name)[0]):
            continue
        is_new = before.vendor == "rocm" and r.name not in there
        if is_new and entry.torch == "exact" and not entry.newest and not entry.pins:
            why = f"each release of {r.name} on the package index requires one exact torch"
            return Torch("cuda", "", "", r.place, why, requirement=r, step=step)
        if is_new and before.version and not r.specifier:
            needs = bringers.get(entry.through, entry) if entry.through not in there else entry
            if needs.torch == "exact" and needs.newest and not catalog.admits(needs.newest, before.version):
                why = f"the newest release of {entry.through or r.name} requires torch{needs.newest}"
                return Torch("cuda", "", "", r.place, why, requirement=r, step=step)
    return now


def _pinned_torch(entry: RequiresTorch | None, r: Requirement) -> str:
    """The torch that the pinned release of a package requires, by the catalog; empty where none is known."""
    return entry.pins.get(catalog.pinned_version(r.specifier), "") if entry else ""
