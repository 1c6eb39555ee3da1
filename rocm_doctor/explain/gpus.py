"""The page of a GPU."""

from __future__ import annotations

import shlex

from rocm_doctor.explain.index import Found
from rocm_doctor.explain.parts import known, more, section
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.show_target import listed, rows_about
from rocm_doctor.plan.short import STATES, answers, installing, verdict
from rocm_doctor.reports.page import Page


def gpu(found: Found, matrix: Matrix) -> Page:
    """Does torch run on it, on which systems, what to type, what is known to go wrong."""
    target, name = matrix.gfx[found.entry.of], found.entry.name
    plans = answers(target.gfx, matrix)
    sizes = "" if name == target.gfx else " or ".join(f"{size:g}" for size in target.sizes(name))
    products = ", ".join(target.names[:4]) + (", ..." if len(target.names) > 4 else "")
    by_amd = ", ".join(f"{system} from ROCm {first} to {last}" for system, first, last, _ in listed(matrix, target))
    return Page(
        f"{name}: {products if name == target.gfx else target.gfx} ({target.family}, {target.codename}{f', {sizes} GiB' if sizes else ''})",
        (
            section("works", verdict(plans), *(f"{system}: {words}" for system, words in plans.words())),
            section("AMD", f"lists it for {by_amd}" if by_amd else "lists it for no release that was read"),
            section("install", *installing(plans)),
            section("memory", f"comes with {sizes} GiB; `fit` takes yours with --vram" if " or " in sizes else ""),
            section(
                "override", *(f"HSA_OVERRIDE_GFX_VERSION={one.value}: {one.verdict}. {one.words}" for one in target.overrides[:2])
            ),
            known(row for row, _ in rows_about(matrix, target)),
            section("source", target.sources[0], *plans.sources()[:2]),
            more(
                target.gfx,
                f"rocm-doctor plan --gpu {target.gfx} --os windows",
                f"rocm-doctor fit --gpu {shlex.quote(name)} --model qwen2.5-7b",
            ),
        ),
        mark=verdict(plans),
        state=STATES[verdict(plans)],
    )
