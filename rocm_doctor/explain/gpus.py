"""The page of a GPU."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rocm_doctor.explain.index import NamedThing
from rocm_doctor.explain.parts import (
    builds_with_code,
    find_rows,
    list_faults,
    section,
    state_build,
    state_fact,
    state_support,
    support_by_system,
)
from rocm_doctor.matrix import Matrix, Override, Target
from rocm_doctor.model import Command
from rocm_doctor.plan.summary import HERE, STATES, TITLES, answers, first_plan, install_lines, stack_words, verdict
from rocm_doctor.reports.page import CitedLine, Page


def gpu(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a GPU: whether torch runs on it, on which systems, what to type, what is known to go wrong."""
    target, name = matrix.gfx[thing.entry.of], thing.entry.name
    plans = answers(target.gfx, matrix, python=HERE)
    vram = target.sizes(name)
    first = first_plan(plans)
    reports = list(dict.fromkeys(claim.source for claim in first.best.candidate.claims)) if first and first.best else []
    sizes = "" if name == target.gfx else " or ".join(f"{size:g}" for size in vram)
    products = ", ".join(target.names[:4]) + (", ..." if len(target.names) > 4 else "")
    by_amd = ", ".join(support_by_system(matrix, target))
    return Page(
        f"{name}: {products if name == target.gfx else target.gfx} ({target.family}, {target.codename}{f', {sizes} GiB' if sizes else ''})",
        (
            section("works", verdict(plans), *(f"{TITLES[system]}: {stack_words(plan)}" for system, plan in plans.items())),
            section("AMD", f"lists it for {by_amd}" if by_amd else "lists it for no release that was read"),
            section("install", *install_lines(plans)),
            section(
                "memory",
                f"comes with {sizes} GiB; `fit` takes yours with --vram" if " or " in sizes else "",
                "" if vram else "not in the catalog; put yours in the place of 16GiB below",
            ),
            section("override", *map(_override, target.overrides), short=2),
            list_faults(row for row, _ in find_rows(matrix, target)),
            section("chip", *_chip(target), short=0),
            section("support", *state_support(matrix, target.gfx), short=0),
            section("parts", *(state_fact(fact, fact.subject) for fact in matrix.facts if target.gfx in fact.gfx), short=0),
            section("wheels", *(state_build(build, target.gfx) for build in builds_with_code(matrix, target.gfx)), short=0),
            section("source", target.sources[0], *reports[:2]),
            section(
                "more",
                *([Command(f"rocm-doctor plan --gpu {target.gfx} --os windows")] if plans["windows"].best else []),
                Command(f"rocm-doctor fit --gpu {shlex.quote(name)}{'' if vram else ' --vram 16GiB'} --model qwen2.5-7b"),
            ),
        ),
        mark=verdict(plans),
        state=STATES[verdict(plans)],
    )


def _override(one: Override) -> CitedLine:
    return CitedLine(f"HSA_OVERRIDE_GFX_VERSION={one.value}: {one.verdict} ({one.grade}). {one.words}", one.sources[0])


def _chip(target: Target) -> Iterator[str]:
    """Sentences about the hardware: products, numbers of the kernel and of PCI, the types that it multiplies."""
    yield f"sold as {', '.join(target.names)}" if target.names else ""
    yield f"gfx_target_version {target.kfd}; PCI {', '.join(target.pci) or 'not known'}; {target.generic or 'no generic target'}"
    types = ", ".join(f"{name} {words}" for name in ("fp16", "bf16", "fp8") if (words := getattr(target, name)))
    yield f"wavefront {target.wavefront}, matrix unit {target.matrix_unit or 'not known'}; {types or 'types not sourced'}"
    yield target.notes
