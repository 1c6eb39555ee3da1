"""A finding on this machine that sends to `plan`, where no build of the catalog has code for the GPU: it says so instead."""

from __future__ import annotations

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding
from rocm_doctor.rules.offers import PLAN


def drop_plan(one: Finding, gfx: str, matrix: Matrix) -> Finding:
    """The finding with neither `plan` nor what goes with it, and with the community wheels that are known, for a GPU without a build."""
    if gfx not in matrix.gfx or all(command.text != PLAN for command in one.commands) or has_build(gfx, matrix):
        return one
    wheels = [fact for fact in matrix.facts if fact.subject == "community wheels" and gfx in fact.gfx]
    known = "".join(f" Neither AMD nor PyTorch builds or tests these: {fact.words}" for fact in wheels)
    sources = tuple(fact.sources[0] for fact in wheels)
    advice = f"No torch of a known index has code for {gfx}, so there is nothing to install; a torch for the CPU can stay.{known}"
    grade = wheels[0].grade if wheels else one.cure_grade
    return msgspec.structs.replace(one, advice=advice, commands=(), cure_grade=grade, cure_sources=sources)


def has_build(gfx: str, matrix: Matrix) -> bool:
    """True if a build of the catalog has code for the target, or for a sibling that an override reaches."""
    from rocm_doctor.plan.catalog import load_catalog

    siblings = [one.value for one in matrix.gfx[gfx].overrides if one.verdict in ("sibling", "faulty")]
    catalog = load_catalog(matrix)
    for build in matrix.torch:
        index = catalog.index_of(build)
        targets = build.gfx or (index.devices if index else ())
        if any(covers(targets, gfx, override) is True for override in (None, *siblings)):
            return True
    return False
