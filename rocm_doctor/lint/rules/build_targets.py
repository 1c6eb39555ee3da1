"""Build lists, indexes and libraries that leave the target out."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.lint import catalog
from rocm_doctor.lint.catalog import Library
from rocm_doctor.lint.model import Problem, Variable
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix
from rocm_doctor.rules.build import find_build
from rocm_doctor.rules.override import NAME
from rocm_doctor.versions import sort_key

_THEROCK = "https://github.com/ROCm/TheRock/blob/main/RELEASES.md"


def lists(case: LintCase) -> list[tuple[Variable, tuple[str, ...]]]:
    """(variable, targets) for each list of build targets that a variable of the environment has."""
    pairs = ((v, catalog.build_list(v.name, v.value)) for v in case.environment.variables)
    return [(v, targets) for v, targets in pairs if targets]


def has_target(targets: tuple[str, ...], case: LintCase) -> bool:
    """True if code for these targets loads on the target's GPU, by itself or through the override of the environment."""
    override = next((v.value for v in case.environment.variables if v.name == NAME), "")
    return catalog.includes(targets, case.target.gpu, override)


def build_lists(case: LintCase) -> Iterator[Problem]:
    """`arch.not-in-build` for the lists of build targets of an environment that leave the target's GPU out: one finding for all of them."""
    every = lists(case)
    lacking = [(v, targets) for v, targets in every if not has_target(targets, case)]
    if not lacking:
        return
    (first, targets), more = lacking[0], len(lacking) - 1
    variable = case.matrix.env.get(first.name)
    library = next((entry for entry in case.matrix.section("libraries", Library) if entry.variable == first.name), None)
    more_lists = f" and {more} more list{'s' if more > 1 else ''}" if more else ""
    yield case.problem(
        "arch.not-in-build", f"{first.name}={first.value}{more_lists} leave{'s' if not more else ''} the target out",
        f"What is built with it has code for {', '.join(targets)} alone.", tuple(v.place for v, _ in lacking),
        key=tuple(sorted({f"{v.name}={v.value}" for v, _ in lacking})), sources=variable.sources if variable else library.sources if library else (_THEROCK,),
        # Where another list has the GPU, what leaves it out is a part that can be done without.
        effect="stops" if case.environment.kind in ("image", "script") and case.environment.builds and len(lacking) == len(every) else "harms",
    )  # fmt: skip


def libraries(case: LintCase) -> Iterator[Problem]:
    """A library that is built from its repository and that serves other GPUs alone, whatever it is built for."""
    if not case.is_amd or case.target.gpu not in case.matrix.gfx:
        return
    for library in case.matrix.section("libraries", Library):
        if not library.gfx or case.target.gpu in library.gfx:
            continue
        places = [r.place for r in case.environment.requirements if r.name in library.packages and r.url.startswith("git+")]
        places += [v.place for v in case.environment.variables if library.variable and v.name == library.variable]
        if places:
            yield case.problem(
                "arch.not-in-build", f"{library.name} does not serve the target", f"It serves {', '.join(library.gfx)}.", (places[0],),
                key=(library.name, places[0].file), sources=library.sources, effect="harms",
            )  # fmt: skip


def serves(case: LintCase) -> bool:
    """True if the literal text of an environment leads to code for the target's GPU."""
    gpu, torch = case.target.gpu, case.torch
    built = [has_target(targets, case) for _, targets in lists(case)]
    if isinstance(torch, Torch):
        if torch.vendor != "rocm" or (torch.gpus and not any(catalog.serves_family(family, gpu) for family in torch.gpus)):
            return False
        build = find_build(case.matrix, torch.local)
        if build and build.gfx:
            return catalog.includes(build.gfx, gpu)
        if torch.gpus or (torch.rocm and _is_supported(gpu, torch.rocm, case.matrix)):
            return True
    return case.environment.builds and any(built)


def _is_supported(gpu: str, rocm: str, matrix: Matrix) -> bool:
    """True if AMD lists the GPU for this ROCm release on Linux, or for one before and one after it."""
    listed = [s for s in matrix.support if gpu in s.gfx and s.os == "linux" and s.state == "supported"]
    key = sort_key(rocm)
    since = any(sort_key(s.since) <= key for s in listed)
    return since and any(not s.until or key <= sort_key(s.until) for s in listed)
