"""What sends to `plan` on this machine: commands that it makes needless do, and none does where no build has code for the GPU."""

from __future__ import annotations

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Snapshot
from rocm_doctor.rules.frameworks import TORCH, Framework, frameworks_in_question
from rocm_doctor.rules.offers import PLAN


def plan_packages(one: Finding, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding with `plan` in place of each command that installs another release of packages that `plan` chooses: its release fits
    the rest of the machine, too."""
    if one.severity == "note" or all(command.purpose != "install" for command in one.commands):
        return one
    from rocm_doctor.plan.catalog import load_catalog

    planned = {name for name, package in load_catalog(matrix).packages.items() if package.releases}

    here = {name for name in planned if isinstance(snapshot.value(f"pkg.{name}"), str)}
    texts = [PLAN if c.purpose == "install" and c.packages and here.issuperset(c.packages) else c for c in one.commands]
    return msgspec.structs.replace(one, commands=matrix.classify(dict.fromkeys(texts)))


def drop_plan(one: Finding, gfx: str, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding with neither `plan` nor what goes with it, and with the community wheels that are known, for a GPU without a build.
    Of JAX and TensorFlow the releases count."""
    if gfx not in matrix.gfx or all(command.text != PLAN for command in one.commands):
        return one
    asked = frameworks_in_question(snapshot)
    if asked and TORCH not in asked:
        return _advise_instead(one, asked[0], snapshot, matrix)
    if has_build(gfx, matrix):
        return one
    wheels = [fact for fact in matrix.facts if fact.subject == "community wheels" and gfx in fact.gfx]
    known = "".join(f" Neither AMD nor PyTorch builds or tests these: {fact.words}" for fact in wheels)
    sources = tuple(fact.sources[0] for fact in wheels)
    advice = f"No torch of a known index has code for {gfx}, so there is nothing to install; a torch for the CPU can stay.{known}"
    grade = wheels[0].grade if wheels else one.cure_grade
    return msgspec.structs.replace(one, advice=advice, commands=(), cure_grade=grade, cure_sources=sources)


def _advise_instead(one: Finding, framework: Framework, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding about JAX or TensorFlow: with what would run in its place where no release is for this machine."""
    from rocm_doctor.plan.catalog import load_catalog
    from rocm_doctor.plan.frameworks import framework_plan
    from rocm_doctor.plan.machine import machine_from_snapshot

    machine = machine_from_snapshot(snapshot)
    plan = framework_plan(framework.key, machine, load_catalog(matrix)) if machine else None
    if plan is None or plan.release:
        return one
    advice = " ".join([plan.headline, *(f"What would run: {words}." for words, _ in plan.instead)])
    return msgspec.structs.replace(one, advice=advice, commands=matrix.classify([command for _, command in plan.instead]))


def has_build(gfx: str, matrix: Matrix) -> bool:
    """True if a build of the catalog has code for the target, or for a sibling that an override reaches."""
    from rocm_doctor.plan.catalog import load_catalog

    siblings = [one.value for one in matrix.gfx[gfx].overrides if one.verdict in ("sibling", "faulty")]
    catalog = load_catalog(matrix)
    for build in matrix.torch:
        index = catalog.build_index(build)
        targets = build.gfx or (index.devices if index else ())
        if any(covers(targets, gfx, override) is True for override in (None, *siblings)):
            return True
    return False
