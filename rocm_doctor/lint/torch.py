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
from rocm_doctor.lint.model import Environment, Index, Install, Place, Reason, Requirement, Target, Unread
from rocm_doctor.matrix import Matrix


class Torch(NamedTuple):
    """A torch. `vendor`: rocm, cuda, cpu, or none where pip finds no such build; `version` without its local part; `rocm`: its ROCm release
    (both may be empty: not known); `gpus`: those that its index or its device packages are for; `place`: what decides; `reason`: why it is this
    one; `requirement`: what asks for it; `is_literal`: nothing unread comes before it."""

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


def outcome(one: Environment, target: Target, matrix: Matrix) -> Torch | Unread | None:
    """The torch of an environment; why it is not known; None where nothing brings one."""
    now: Torch | Unread | None = _image_torch(one, matrix)
    there = {"torchvision", "torchaudio", *re.split(r"\W+", one.image.name)} if one.image and now else set[str]()
    certain = True
    for step in one.steps:
        if isinstance(step, Unread):
            certain = False
            continue
        asks_for_build = any(r.name == "torch" and catalog.local_build(r.specifier, r.url) for r in step.requirements)
        if one.has_torch_elsewhere and not asks_for_build:
            continue
        then = _apply_install(step, now, target, matrix, frozenset(there))
        if isinstance(then, Torch) and then is not now:
            now = then._replace(is_literal=certain and then.is_literal)
        elif then is not now:
            now = then
        there |= {r.name for r in step.requirements}
    return now


def _image_torch(one: Environment, matrix: Matrix) -> Torch | Unread | None:
    if one.image is None:
        return None
    facts = catalog.image_facts(one.image.name, matrix)
    if facts.torch == "":
        return Unread(one.image.place, Reason.IMAGE, True)
    if facts.torch == "none":
        return None
    return Torch(facts.torch, facts.version, facts.rocm, one.image.place, f"the image {one.image.name} brings it")


def _apply_install(
    step: Install, now: Torch | Unread | None, target: Target, matrix: Matrix, there: frozenset[str]
) -> Torch | Unread | None:
    """The torch after one installation; `now` itself where that leaves it alone."""
    before = None if step.ignores_installed else now
    asked = [r for r in step.requirements if r.name == "torch" and catalog.applies(r.marker, target)]
    if not asked:
        return _required_torch(step, before, now, target, matrix, there)
    one = asked[-1]
    named = catalog.local_build(one.specifier, one.url)
    if isinstance(before, Unread) and not named and not step.upgrade:
        return before  # what is there may satisfy the requirement
    if isinstance(before, Torch) and not step.upgrade and _keeps_torch(before, one, named):
        return now
    found = _resolve(step, one, named, target, matrix)
    open_ = isinstance(before, Torch) and before.vendor == "rocm" and not before.version and not named
    if open_ and isinstance(found, Torch) and found.vendor != "rocm":
        return found._replace(is_literal=False)  # the pin may be the very torch of the image
    return found


def _keeps_torch(now: Torch, one: Requirement, named: tuple[str, str] | None) -> bool:
    """True if pip keeps the torch that is there."""
    if named and (named[0] != now.vendor or (named[1] and now.rocm and named[1] != now.rocm)):
        return False
    if one.url:
        return False
    return catalog.admits(one.specifier, now.version) if now.version else not catalog.pinned_version(one.specifier)


Asked = tuple[Source, Union[Index, None]]
"""An index that is asked, and where it is named; None for the package index that is asked by default."""


def _sources(step: Install, package: str) -> tuple[list[Asked], bool]:
    """The indexes that are asked for a package, in the order of the tool, and whether the first one that has it settles it."""
    bound = [i for i in step.indexes if package in i.packages]
    if bound:
        return [(catalog.classify_index(bound[-1]), bound[-1])], True
    free = [i for i in step.indexes if not i.packages]
    named: list[Asked] = [(catalog.classify_index(i), i) for i in free if i.role == "default"]
    default = named[-1:] or [(PYPI, None)]
    more: list[Asked] = [(s, i) for i in free if i.role != "default" and (s := catalog.classify_index(i)).vendor != "none"]
    first = step.tool == "uv"
    return (more + default if first else default + more), first


def _resolve(step: Install, one: Requirement, named: tuple[str, str] | None, target: Target, matrix: Matrix) -> Torch | Unread:
    """torch as it is taken from the indexes."""
    version = catalog.pinned_version(one.specifier)
    devices = tuple(e.removeprefix("device-") for e in one.extras if e.startswith("device-gfx"))
    asked, first = _sources(step, "torch")
    if named:
        missing = _explain_missing(step, one, named[1], asked, matrix) if named[0] == "rocm" and not one.url else ""
        if missing:
            certain = step.is_complete or bool(step.indexes)
            return Torch("none", version, named[1], one.place, missing, requirement=one, step=step, is_literal=certain)
        why = f"it is asked for as {one.url or one.specifier}"
        return Torch(named[0], version, named[1], one.place, why, devices, one, step)
    if "+" in one.specifier or one.url:
        return Unread(one.place, Reason.INDEX, True)
    if any(s.vendor == "unknown" for s, _ in asked):
        return Unread(next(i for s, i in asked if s.vendor == "unknown" and i).place, Reason.INDEX, True)
    if first:
        choice = _make_torch(*asked[0], one, _offer(asked[0][0], one, target, matrix), matrix, target.python)
    else:
        choice = _highest_torch(asked, one, target, matrix)
    return choice._replace(gpus=devices or choice.gpus, requirement=one, step=step)


def _offer(source: Source, one: Requirement, target: Target, matrix: Matrix) -> str | None:
    """The version that an index offers; empty where it is not known; None where it has none."""
    pin = catalog.pinned_version(one.specifier)
    if source.vendor != "rocm":
        return pin or catalog.newest_torch(matrix, one.specifier, target.python)
    if source.nightly or not catalog.list_builds(matrix, source.rocm):
        return pin
    found = catalog.list_builds(matrix, source.rocm, one.specifier, target.python)
    return found[0].torch if found else None


def _highest_torch(asked: list[Asked], one: Requirement, target: Target, matrix: Matrix) -> Torch:
    """The highest version of all indexes; a local part wins a tie. A ROCm index whose versions are not known wins nothing."""
    offers = [(source, index, _offer(source, one, target, matrix)) for source, index in asked]
    there = [(s, i, v) for s, i, v in offers if v is not None]
    if not there:
        source, index = next(((s, i) for s, i in asked if s.vendor == "rocm"), asked[0])
        return _make_torch(source, index, one, None, matrix, target.python)
    open_ = next(((s, i) for s, i, v in there if s.vendor == "rocm" and not v), None)
    if open_ and len(there) > 1:
        return _make_torch(*open_, one, "", matrix)._replace(is_literal=False)
    rank = {"rocm": 3, "cuda": 2, "cpu": 1, "pypi": 0}
    source, index, version = max(there, key=lambda o: (versions.sort_key(o[2] or "0"), rank[o[0].vendor]))
    beaten = next(((s, v) for s, _, v in offers if s.vendor == "rocm" and s is not source), None)
    found = _make_torch(source, index, one, version, matrix)
    if beaten and source.vendor == "pypi":
        has = f"whose newest fitting torch is {beaten[1]}" if beaten[1] else f"which has no torch {one.specifier}"
        return found._replace(
            reason=f"pip takes the highest version of all indexes: {version} from the package index, not from rocm{beaten[0].rocm}, {has}"
        )
    return found


def _make_torch(
    source: Source, index: Index | None, one: Requirement, version: str | None, matrix: Matrix, python: str = ""
) -> Torch:
    where = index.url if index else "the package index"
    if version is None:
        builds = catalog.list_builds(matrix, source.rocm)
        for_python = f" for Python {python}" if python else ""
        has = f"it has {builds[-1].torch} to {builds[0].torch}" if builds else "none is known"
        return Torch("none", "", source.rocm, one.place, f"{where} has no torch{one.specifier}{for_python} ({has})")
    vendor = "cuda" if source.vendor in ("pypi", "none") else source.vendor
    return Torch(vendor, version, source.rocm, one.place, f"it comes from {where}", source.gpus)


def _explain_missing(step: Install, one: Requirement, rocm: str, asked: list[Asked], matrix: Matrix) -> str:
    """A sentence that says why the asked indexes lack the pinned torch for this ROCm; empty where one of them may have it."""
    if all(s.vendor == "pypi" for s, _ in asked):
        return f"no index that is asked has torch{one.specifier}"
    ours = [s for s, _ in asked if s.vendor == "rocm"]
    builds = [catalog.list_builds(matrix, s.rocm) for s in ours]
    if not ours or not all(builds) or any(s.nightly for s in ours) or any(s.vendor == "unknown" for s, _ in asked):
        return ""
    version = catalog.pinned_version(one.specifier)
    oldest = min((b.torch for b in matrix.torch if versions.parse(b.torch)), key=versions.sort_key)
    if not version or versions.sort_key(version) < versions.sort_key(oldest):
        return ""
    if any(b.torch == version and b.rocm and b.local.endswith(f"+rocm{rocm}") for some in builds for b in some):
        return ""
    return f"the index of rocm{ours[-1].rocm} has no torch{one.specifier}"


def _required_torch(
    step: Install,
    before: Torch | Unread | None,
    now: Torch | Unread | None,
    target: Target,
    matrix: Matrix,
    there: frozenset[str],
) -> Torch | Unread | None:
    """The torch that other packages bring: one that requires torch where none is there, or one whose release pins another one."""
    if step.without_dependencies or isinstance(before, Unread):
        return now
    known = catalog.brings_torch(matrix)
    asked = [r for r in step.requirements if catalog.applies(r.marker, target) and not r.url]
    if before is None:
        bring = next((r for r in asked if r.name in known or "torch" in r.extras), None)
        if bring is None:
            return now
        sources, first = _sources(step, "torch")
        if any(s.vendor != "pypi" for s, _ in sources[: 1 if first else None]):
            return Unread(bring.place, Reason.INDEX, True)
        entry = known.get(bring.name)
        why, certain = (
            f"{bring.name} requires torch, and the package index has CUDA builds",
            not entry or entry.grade != "hearsay",
        )
        return Torch("cuda", _pinned_torch(entry, bring), "", bring.place, why, requirement=bring, step=step, is_literal=certain)
    for r in asked:
        entry = known.get(r.name)
        if entry is None or any(s.vendor not in ("pypi", "none") for s, _ in _sources(step, r.name)[0]):
            continue
        is_new = before.vendor == "rocm" and r.name not in there
        if is_new and entry.torch == "exact" and not entry.newest and not entry.pins:
            why = f"each release of {r.name} on the package index requires one exact torch"
            return Torch("cuda", "", "", r.place, why, requirement=r, step=step)
        if is_new and before.version and not r.specifier:
            needs = known.get(entry.through, entry) if entry.through not in there else entry
            if needs.torch == "exact" and needs.newest and not catalog.admits(needs.newest, before.version):
                why = f"the newest release of {entry.through or r.name} requires torch{needs.newest}"
                return Torch("cuda", "", "", r.place, why, requirement=r, step=step)
    return now


def _pinned_torch(entry: RequiresTorch | None, r: Requirement) -> str:
    """The torch that the pinned release of a package requires, by the catalog; empty where none is known."""
    return entry.pins.get(catalog.pinned_version(r.specifier), "") if entry else ""
